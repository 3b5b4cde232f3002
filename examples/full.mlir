// Attention over all keys.
//
//   o(i) = sum over j of softmax(q(i) . k(j) / sqrt(64)) * v(j)
//
// Operands are (batch, sequence, heads, head dim). The scale is 1/sqrt(head
// dim) where none is given. The destination after `outs` gives the result its
// shape and element type.
//
// Run and verify:   fa-run examples/full.mlir --verify

func.func @full(%query: tensor<2x512x8x64xf32>, %key: tensor<2x512x8x64xf32>,
                %value: tensor<2x512x8x64xf32>) -> tensor<2x512x8x64xf32> {
  %init = tensor.empty() : tensor<2x512x8x64xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x512x8x64xf32>, tensor<2x512x8x64xf32>, tensor<2x512x8x64xf32>)
      outs(%init : tensor<2x512x8x64xf32>)
  return %output : tensor<2x512x8x64xf32>
}
