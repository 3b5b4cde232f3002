func.func @cross(%q: tensor<?x?x?x64xf16>, %key.cache: tensor<?x?x?x64xf16>, %output: tensor<?x?x?x64xf16>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x?x64xf16>
  %queries = tensor.dim %q, %c1 : tensor<?x?x?x64xf16>
  %heads = tensor.dim %q, %c2 : tensor<?x?x?x64xf16>
  %o0 = tensor.empty(%batch, %queries, %heads) : tensor<?x?x?x64xf16>
  %l0 = tensor.empty(%batch, %heads, %queries) : tensor<?x?x?xf32>
  %o, %lse = fa.attention ins(%q, %key.cache, %output : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
      outs(%o0, %l0 : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
