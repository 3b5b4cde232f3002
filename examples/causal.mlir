// Causal attention, aligned at the bottom right.
//
// With fewer queries than keys, as when a prompt is extended, the last query
// sees the last key: query i sees key j when j <= i + keys - queries. Blocks of
// keys above the diagonal are never visited.
//
// The second destination asks for the log-sum-exp of the scores (f32, natural
// logarithm), which merging partial results and the backward pass need. It is
// always (batch, heads, queries).
//
// Run and verify:   fa-run examples/causal.mlir --verify

func.func @causal(%query: tensor<2x256x8x64xbf16>, %key: tensor<2x512x8x64xbf16>,
                  %value: tensor<2x512x8x64xbf16>) -> (tensor<2x256x8x64xbf16>, tensor<2x8x256xf32>) {
  %init = tensor.empty() : tensor<2x256x8x64xbf16>
  %lse_init = tensor.empty() : tensor<2x8x256xf32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<2x256x8x64xbf16>, tensor<2x512x8x64xbf16>, tensor<2x512x8x64xbf16>)
      outs(%init, %lse_init : tensor<2x256x8x64xbf16>, tensor<2x8x256xf32>)
      mask causal
  return %output, %lse : tensor<2x256x8x64xbf16>, tensor<2x8x256xf32>
}
