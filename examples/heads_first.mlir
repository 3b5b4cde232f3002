// Other orders of dimensions.
//
// Each operand names its own order: b batch, s sequence, h heads, d head dim.
// Here the operands are (batch, heads, sequence, head dim) and the output is
// (batch, sequence, heads, head dim), ready to be read as (batch, sequence,
// heads * head dim). No transpose is made.
//
// Run and verify:   fa-run examples/heads_first.mlir --verify

func.func @heads_first(%query: tensor<2x8x256x64xf32>, %key: tensor<2x8x256x64xf32>,
                       %value: tensor<2x8x256x64xf32>) -> tensor<2x256x8x64xf32> {
  %init = tensor.empty() : tensor<2x256x8x64xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>)
      outs(%init : tensor<2x256x8x64xf32>)
      mask causal
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>}
  return %output : tensor<2x256x8x64xf32>
}
