// Values whose head dim differs from that of queries and keys, as in multi-head
// latent attention, an f32 output by request, and a scale of one's own.
//
// Run and verify:   fa-run examples/value_head_dim.mlir --verify

func.func @value_head_dim(%query: tensor<1x256x4x192xbf16>, %key: tensor<1x256x4x192xbf16>,
                          %value: tensor<1x256x4x128xbf16>) -> (tensor<1x256x4x128xf32>, tensor<1x4x256xf32>) {
  %scale = arith.constant 0.08 : f32
  %init = tensor.empty() : tensor<1x256x4x128xf32>
  %lse_init = tensor.empty() : tensor<1x4x256xf32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<1x256x4x192xbf16>, tensor<1x256x4x192xbf16>, tensor<1x256x4x128xbf16>)
      outs(%init, %lse_init : tensor<1x256x4x128xf32>, tensor<1x4x256xf32>)
      scale(%scale)
      mask causal
  return %output, %lse : tensor<1x256x4x128xf32>, tensor<1x4x256xf32>
}
