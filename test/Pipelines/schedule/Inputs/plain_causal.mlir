!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
func.func @attention(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse) mask causal
  return
}
