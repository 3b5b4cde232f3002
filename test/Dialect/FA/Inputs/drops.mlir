// Attention with dropout, for sequences-passes-invalid.mlir.
!t = memref<1x8x2x16xf32>
func.func @drops(%q: !t, %o: !t, %p: f32, %s: i64) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) dropout(%p, %s, %s)
  return
}
