// A bias tensor added to the scores.
//
// Its shape is (batch, heads, queries, keys), where a static size of 1
// broadcasts: here one table a head serves both batch items. Its element type is
// its own (f16 beside f32 operands).
//
// Run and verify:   fa-run examples/bias.mlir --verify

func.func @bias(%query: tensor<2x200x4x64xf32>, %key: tensor<2x300x4x64xf32>,
                %value: tensor<2x300x4x64xf32>, %table: tensor<1x4x200x300xf16>) -> tensor<2x200x4x64xf32> {
  %init = tensor.empty() : tensor<2x200x4x64xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x200x4x64xf32>, tensor<2x300x4x64xf32>, tensor<2x300x4x64xf32>)
      outs(%init : tensor<2x200x4x64xf32>)
      score bias(%table : tensor<1x4x200x300xf16>)
  return %output : tensor<2x200x4x64xf32>
}
