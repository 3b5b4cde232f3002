// Several documents packed into one sequence.
//
// A query sees a key when both have the same document id (i32, batch x
// positions), and here also only when the key is not after it: masks written
// one after the other must all allow a pair.
//
// Run and verify:   fa-run examples/document_mask.mlir --verify

func.func @document_mask(%query: tensor<2x96x8x64xbf16>, %key: tensor<2x96x8x64xbf16>,
                         %value: tensor<2x96x8x64xbf16>) -> tensor<2x96x8x64xbf16> {
  // Documents of 40, 9 and 47 tokens in the first item, 13 and 83 in the second.
  %ids = arith.constant dense<
       [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
         0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
         1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
         2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]
      > : tensor<2x96xi32>
  %init = tensor.empty() : tensor<2x96x8x64xbf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x96x8x64xbf16>, tensor<2x96x8x64xbf16>, tensor<2x96x8x64xbf16>)
      outs(%init : tensor<2x96x8x64xbf16>)
      mask causal documents(%ids : tensor<2x96xi32>)
  return %output : tensor<2x96x8x64xbf16>
}
