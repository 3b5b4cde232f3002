func.func @dynamic(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %queries = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %heads = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %o0 = tensor.empty(%batch, %queries, %heads) : tensor<?x?x?x64xbf16>
  %l0 = tensor.empty(%batch, %heads, %queries) : tensor<?x?x?xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
      outs(%o0, %l0 : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) mask causal_top_left
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
