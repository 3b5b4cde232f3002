// Prefix language model: every query sees the prefix, the rest is causal.
//
// The prefix length is one i32 a batch item, or one index for all of them.
//
// Run and verify:   fa-run examples/prefix.mlir --verify

func.func @prefix(%query: tensor<2x320x8x64xf16>, %key: tensor<2x320x8x64xf16>,
                  %value: tensor<2x320x8x64xf16>) -> tensor<2x320x8x64xf16> {
  %prefix = arith.constant dense<[100, 7]> : tensor<2xi32>
  %init = tensor.empty() : tensor<2x320x8x64xf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x320x8x64xf16>, tensor<2x320x8x64xf16>, tensor<2x320x8x64xf16>)
      outs(%init : tensor<2x320x8x64xf16>)
      mask prefix(%prefix : tensor<2xi32>)
  return %output : tensor<2x320x8x64xf16>
}
