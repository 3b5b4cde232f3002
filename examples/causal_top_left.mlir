// Causal attention, aligned at the top left.
//
// Query i sees key j when j <= i, whatever the number of queries and keys. Here
// the last 128 keys are seen by no query, so they are never read.
//
// Run and verify:   fa-run examples/causal_top_left.mlir --verify

func.func @causal_top_left(%query: tensor<2x256x8x64xf16>, %key: tensor<2x384x8x64xf16>,
                           %value: tensor<2x384x8x64xf16>) -> tensor<2x256x8x64xf16> {
  %init = tensor.empty() : tensor<2x256x8x64xf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x256x8x64xf16>, tensor<2x384x8x64xf16>, tensor<2x384x8x64xf16>)
      outs(%init : tensor<2x256x8x64xf16>)
      mask causal_top_left
  return %output : tensor<2x256x8x64xf16>
}
