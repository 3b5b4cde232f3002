// One projection of queries, keys and values: (batch, sequence, 3, heads, dim).
!packed = tensor<?x?x3x4x64xbf16>
!t = tensor<?x?x4x64xbf16>
func.func @packed(%qkv: !packed) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %qkv, %c0 : !packed
  %s = tensor.dim %qkv, %c1 : !packed
  %q = tensor.extract_slice %qkv[0, 0, 0, 0, 0] [%b, %s, 1, 4, 64] [1, 1, 1, 1, 1] : !packed to !t
  %k = tensor.extract_slice %qkv[0, 0, 1, 0, 0] [%b, %s, 1, 4, 64] [1, 1, 1, 1, 1] : !packed to !t
  %v = tensor.extract_slice %qkv[0, 0, 2, 0, 0] [%b, %s, 1, 4, 64] [1, 1, 1, 1, 1] : !packed to !t
  %e = tensor.empty(%b, %s) : !t
  %o = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t) mask causal
  return %o : !t
}

// (batch, sequence, 3 * heads, dim), cut by heads; no multiple of 16 in the head dim.
!rows = tensor<?x?x12x40xbf16>
!part = tensor<?x?x4x40xbf16>
func.func @by_heads(%qkv: !rows) -> !part {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %qkv, %c0 : !rows
  %s = tensor.dim %qkv, %c1 : !rows
  %q = tensor.extract_slice %qkv[0, 0, 0, 0] [%b, %s, 4, 40] [1, 1, 1, 1] : !rows to !part
  %k = tensor.extract_slice %qkv[0, 0, 4, 0] [%b, %s, 4, 40] [1, 1, 1, 1] : !rows to !part
  %v = tensor.extract_slice %qkv[0, 0, 8, 0] [%b, %s, 4, 40] [1, 1, 1, 1] : !rows to !part
  %e = tensor.empty(%b, %s) : !part
  %o = fa.attention ins(%q, %k, %v : !part, !part, !part) outs(%e : !part) mask causal
  return %o : !part
}

// (batch, sequence, 3 * heads * dim), expanded; the queries are cut out at run time.
!flat = tensor<?x?x768xf16>
!five = tensor<?x?x3x2x128xf16>
!u = tensor<?x?x2x128xf16>
func.func @expanded(%qkv: !flat, %first: index, %count: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %qkv, %c0 : !flat
  %s = tensor.dim %qkv, %c1 : !flat
  %five = tensor.expand_shape %qkv [[0], [1], [2, 3, 4]] output_shape [%b, %s, 3, 2, 128] : !flat into !five
  %q = tensor.extract_slice %five[0, %first, 0, 0, 0] [%b, %count, 1, 2, 128] [1, 1, 1, 1, 1] : !five to !u
  %k = tensor.extract_slice %five[0, 0, 1, 0, 0] [%b, %s, 1, 2, 128] [1, 1, 1, 1, 1] : !five to !u
  %v = tensor.extract_slice %five[0, 0, 2, 0, 0] [%b, %s, 1, 2, 128] [1, 1, 1, 1, 1] : !five to !u
  %e = tensor.empty(%b, %count) : !u
  %o = fa.attention ins(%q, %k, %v : !u, !u, !u) outs(%e : !u)
  return %o : !u
}

// Memory, transposed, and heads in two dims that become one; keys and values
// share an argument, of which a cache of any length is used.
!m = memref<?x2x2x?x64xbf16>
!hs = memref<?x4x?x64xbf16>
!sh = memref<?x?x4x64xbf16, strided<[?, 64, ?, 1]>>
!kv = memref<2x?x?x2x64xbf16>
!keys = memref<?x?x2x64xbf16, strided<[?, 128, 64, 1]>>
!values = memref<?x?x2x64xbf16, strided<[?, 128, 64, 1], offset: ?>>
!p = memref<?x?x4x64xbf16>
func.func @memory(%q: !m, %kv: !kv, %n: index, %o: !p) {
  %c1 = arith.constant 1 : index
  %b = memref.dim %kv, %c1 : !kv
  %heads = memref.collapse_shape %q [[0], [1, 2], [3], [4]] : !m into !hs
  %qt = memref.transpose %heads (b, h, s, d) -> (b, s, h, d) : !hs to !sh
  %k = memref.subview %kv[0, 0, 0, 0, 0] [1, %b, %n, 2, 64] [1, 1, 1, 1, 1] : !kv to !keys
  %v = memref.subview %kv[1, 0, 0, 0, 0] [1, %b, %n, 2, 64] [1, 1, 1, 1, 1] : !kv to !values
  fa.attention ins(%qt, %k, %v : !sh, !keys, !values) outs(%o : !p) mask causal
  return
}

// A transpose of a slice is an order of dimensions of it.
func.func @transposed(%qkv: tensor<3x?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %b = tensor.dim %qkv, %c1 : tensor<3x?x4x?x64xbf16>
  %s = tensor.dim %qkv, %c3 : tensor<3x?x4x?x64xbf16>
  %q = tensor.extract_slice %qkv[0, 0, 0, 0, 0] [1, %b, 4, %s, 64] [1, 1, 1, 1, 1] : tensor<3x?x4x?x64xbf16> to tensor<?x4x?x64xbf16>
  %k = tensor.extract_slice %qkv[1, 0, 0, 0, 0] [1, %b, 4, %s, 64] [1, 1, 1, 1, 1] : tensor<3x?x4x?x64xbf16> to tensor<?x4x?x64xbf16>
  %v = tensor.extract_slice %qkv[2, 0, 0, 0, 0] [1, %b, 4, %s, 64] [1, 1, 1, 1, 1] : tensor<3x?x4x?x64xbf16> to tensor<?x4x?x64xbf16>
  %e = tensor.empty(%b, %s) : tensor<?x?x4x64xbf16>
  %qt = linalg.transpose ins(%q : tensor<?x4x?x64xbf16>) outs(%e : tensor<?x?x4x64xbf16>) permutation = [0, 2, 1, 3]
  %kt = linalg.transpose ins(%k : tensor<?x4x?x64xbf16>) outs(%e : tensor<?x?x4x64xbf16>) permutation = [0, 2, 1, 3]
  %vt = linalg.transpose ins(%v : tensor<?x4x?x64xbf16>) outs(%e : tensor<?x?x4x64xbf16>) permutation = [0, 2, 1, 3]
  %r = fa.attention ins(%qt, %kt, %vt : tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>) outs(%e : tensor<?x?x4x64xbf16>) mask causal
  %f = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %rt = linalg.transpose ins(%r : tensor<?x?x4x64xbf16>) outs(%f : tensor<?x4x?x64xbf16>) permutation = [0, 2, 1, 3]
  return %rt : tensor<?x4x?x64xbf16>
}

// One cache is keys and values: it is copied once.
func.func @same(%q: tensor<?x?x4x64xbf16>, %kv: tensor<?x?x4x64xbf16>, %e: tensor<?x?x4x64xbf16>) -> tensor<?x?x4x64xbf16> {
  %r = fa.attention ins(%q, %kv, %kv : tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>) outs(%e : tensor<?x?x4x64xbf16>) mask causal
  return %r : tensor<?x?x4x64xbf16>
}
