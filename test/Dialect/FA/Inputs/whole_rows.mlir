func.func @rows(%p: memref<4x8x2x16xf32>, %t: memref<1x4xi32>, %i: index) -> memref<1x?x1x16xf32, strided<[?, ?, ?, 1], offset: ?>> {
  %r = fa.paged_rows %p[%i] pages(%t[%i]) count(%i) {dims = #fa.dims<p, s, h, d>} : memref<4x8x2x16xf32>, memref<1x4xi32>
      -> memref<1x?x1x16xf32, strided<[?, ?, ?, 1], offset: ?>>
  return %r : memref<1x?x1x16xf32, strided<[?, ?, ?, 1], offset: ?>>
}
