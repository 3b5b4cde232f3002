// Attention with linear biases (ALiBi, Press et al. 2022).
//
// Each head subtracts its slope times the distance between query and key from
// the scaled score. Slopes are f32, one a head, or one a batch and head.
//
// Run and verify:   fa-run examples/alibi.mlir --verify

func.func @alibi(%query: tensor<2x320x8x64xf32>, %key: tensor<2x320x8x64xf32>,
                 %value: tensor<2x320x8x64xf32>) -> tensor<2x320x8x64xf32> {
  %slopes = arith.constant dense<[0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]> : tensor<8xf32>
  %init = tensor.empty() : tensor<2x320x8x64xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x320x8x64xf32>, tensor<2x320x8x64xf32>, tensor<2x320x8x64xf32>)
      outs(%init : tensor<2x320x8x64xf32>)
      score alibi(%slopes : tensor<8xf32>)
      mask causal
  return %output : tensor<2x320x8x64xf32>
}
