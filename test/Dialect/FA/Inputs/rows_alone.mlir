// Rows of a sequence outside of any function, for sequences-passes-invalid.mlir.
!rows = memref<1x?x1x24xf16, strided<[?, ?, ?, 1], offset: ?>>
%pool, %table, %b = "test.make"() : () -> (memref<?x16x2x24xf16>, memref<?x?xi32>, index)
%rows = fa.paged_rows %pool[%b] pages(%table[%b]) count(%b) {dims = #fa.dims<p, s, h, d>} : memref<?x16x2x24xf16>, memref<?x?xi32> -> !rows
"test.use"(%rows) : (!rows) -> ()
