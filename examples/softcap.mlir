// Scores bounded by a soft cap: s becomes cap * tanh(s / cap).
//
// The cap acts after the scale and before the mask. With inputs of this spread
// a cap of 2 bends most scores. The log-sum-exp is that of the bounded scores.
//
// Run and verify:   fa-run examples/softcap.mlir --verify

func.func @softcap(%query: tensor<2x256x8x64xf16>, %key: tensor<2x256x8x64xf16>,
                   %value: tensor<2x256x8x64xf16>) -> (tensor<2x256x8x64xf16>, tensor<2x8x256xf32>) {
  %cap = arith.constant 2.0 : f32
  %init = tensor.empty() : tensor<2x256x8x64xf16>
  %lse_init = tensor.empty() : tensor<2x8x256xf32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<2x256x8x64xf16>, tensor<2x256x8x64xf16>, tensor<2x256x8x64xf16>)
      outs(%init, %lse_init : tensor<2x256x8x64xf16>, tensor<2x8x256xf32>)
      score softcap(%cap)
      mask causal
  return %output, %lse : tensor<2x256x8x64xf16>, tensor<2x8x256xf32>
}
