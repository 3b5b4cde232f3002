// Sequences that begin with the same prompt, whose keys are read once.
//
// Keys lie in pages of a pool. The first attention has the pages of the prompt
// for all sequences: its table and lengths are broadcast over the batch, so
// fa-batch-shared-keys takes the queries of all sequences for those of one. The
// second one sees the keys that each sequence has alone. fa.combine merges both
// by their log-sum-exp.
//
// Run and verify:   fa-run examples/shared_prefix.mlir --verify

!queries = tensor<6x1x8x64xf16>
!partial = tensor<6x1x8x64xf32>
!lse = tensor<6x8x1xf32>
!pool = tensor<48x16x2x64xf16>

func.func @shared_prefix(%query: !queries, %keys: !pool, %values: !pool) -> (!queries, !lse) {
  %prompt = arith.constant dense<[3, 41, 7, 12, 30, 9, 44, 2, 17, 25, 0, 38, 21, 33, 5, 14]> : tensor<16xi32>
  %prompt_length = arith.constant dense<250> : tensor<i32>
  %table = arith.constant dense<[[1, 4, 6], [8, 10, 11], [13, 15, 16], [18, 19, 20], [22, 23, 24], [26, 27, 28]]> : tensor<6x3xi32>
  %lengths = arith.constant dense<[48, 1, 25, 0, 32, 33]> : tensor<6xi32>

  %table_init = tensor.empty() : tensor<6x16xi32>
  %lengths_init = tensor.empty() : tensor<6xi32>
  %prompts = linalg.broadcast ins(%prompt : tensor<16xi32>) outs(%table_init : tensor<6x16xi32>) dimensions = [0]
  %prompt_lengths = linalg.broadcast ins(%prompt_length : tensor<i32>) outs(%lengths_init : tensor<6xi32>) dimensions = [0]

  %partial_init = tensor.empty() : !partial
  %lse_init = tensor.empty() : !lse
  %shared, %shared_lse = fa.attention
      ins(%query, %keys, %values : !queries, !pool, !pool) outs(%partial_init, %lse_init : !partial, !lse)
      key_lengths(%prompt_lengths : tensor<6xi32>) key_pages(%prompts : tensor<6x16xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  %alone, %alone_lse = fa.attention
      ins(%query, %keys, %values : !queries, !pool, !pool) outs(%partial_init, %lse_init : !partial, !lse)
      key_lengths(%lengths : tensor<6xi32>) key_pages(%table : tensor<6x3xi32>) mask causal
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}

  %init = tensor.empty() : !queries
  %output, %lse = fa.combine
      a(%shared, %shared_lse : !partial, !lse) b(%alone, %alone_lse : !partial, !lse)
      outs(%init, %lse_init : !queries, !lse) -> !queries, !lse
  return %output, %lse : !queries, !lse
}
