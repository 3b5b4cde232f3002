// Attention of one sequence with two heads of 16, for main.c to call.
!t = memref<1x?x2x16xf32>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  return
}
