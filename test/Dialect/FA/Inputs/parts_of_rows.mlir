// Every second row of a sequence, and a part of the head dim, for sequences-passes-invalid.mlir.
!rows = memref<1x?x1x24xf16, strided<[?, ?, ?, 1], offset: ?>>
!part = memref<1x16x1x8xf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @parts(%pool: memref<?x16x2x24xf16>, %table: memref<?x?xi32>, %b: index, %h: index, %n: index) {
  %rows = fa.paged_rows %pool[%h] pages(%table[%b]) count(%n) {dims = #fa.dims<p, s, h, d>} : memref<?x16x2x24xf16>, memref<?x?xi32> -> !rows
  %part = memref.subview %rows[0, 0, 0, 8] [1, 16, 1, 8] [1, 2, 1, 1] : !rows to !part
  "test.use"(%part) : (!part) -> ()
  return
}
