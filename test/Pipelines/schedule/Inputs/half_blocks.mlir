// 16 tokens of 8 query heads on one are 128 rows of a tile: blocks of half of them, where sequences are few.

!q = memref<?x16x16x128xbf16>
!k = memref<?x?x2x128xbf16>
!lse = memref<?x16x16xf32>
func.func @window(%q: !q, %k: !k, %v: !k, %o: !q, %l: !lse) {
  %left = arith.constant 300 : index
  %right = arith.constant 0 : index
  %cap = arith.constant 20.0 : f32
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o, %l : !q, !lse) score softcap(%cap) mask window(%left, %right)
  return
}

!q64 = memref<?x16x16x64xf16>
!k64 = memref<?x?x2x64xf16>
func.func @alibi(%q: !q64, %k: !k64, %v: !k64, %slopes: memref<16xf32>, %o: !q64, %l: !lse) {
  fa.attention ins(%q, %k, %v : !q64, !k64, !k64) outs(%o, %l : !q64, !lse) score alibi(%slopes : memref<16xf32>) mask causal
  return
}

!qw = memref<?x16x16x256xbf16>
!kw = memref<?x?x2x256xbf16>
func.func @wide(%q: !qw, %k: !kw, %v: !kw, %lengths: memref<?xi32>, %o: !qw, %l: !lse) {
  fa.attention ins(%q, %k, %v : !qw, !kw, !kw) outs(%o, %l : !qw, !lse) key_lengths(%lengths : memref<?xi32>) mask causal
  return
}

func.func @bias(%q: !q, %k: !k, %v: !k, %table: memref<1x16x16x?xf32>, %o: !q, %l: !lse) {
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o, %l : !q, !lse) score bias(%table : memref<1x16x16x?xf32>)
  return
}
