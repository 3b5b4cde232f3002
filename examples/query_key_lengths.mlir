// A padded batch: every item has its own number of valid queries and keys.
//
// Keys past a length are masked and never read, so the padding may hold NaN.
// Queries past a length are not computed: their output keeps what the
// destination held, here the argument %init. Causal aligns to the lengths: the
// last valid query sees the last valid key.
//
// The last item has no valid key at all: its valid rows give 0 and a log-sum-exp
// of -inf.
//
// Run and verify:   fa-run examples/query_key_lengths.mlir --verify

func.func @query_key_lengths(%query: tensor<3x200x4x64xf32>, %key: tensor<3x300x4x64xf32>,
                             %value: tensor<3x300x4x64xf32>, %init: tensor<3x200x4x64xf32>,
                             %lse_init: tensor<3x4x200xf32>) -> (tensor<3x200x4x64xf32>, tensor<3x4x200xf32>) {
  %query_lengths = arith.constant dense<[200, 129, 50]> : tensor<3xi32>
  %key_lengths = arith.constant dense<[300, 17, 0]> : tensor<3xi32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<3x200x4x64xf32>, tensor<3x300x4x64xf32>, tensor<3x300x4x64xf32>)
      outs(%init, %lse_init : tensor<3x200x4x64xf32>, tensor<3x4x200xf32>)
      query_lengths(%query_lengths : tensor<3xi32>)
      key_lengths(%key_lengths : tensor<3xi32>)
      mask causal
  return %output, %lse : tensor<3x200x4x64xf32>, tensor<3x4x200xf32>
}
