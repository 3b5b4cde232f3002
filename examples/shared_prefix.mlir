// Sequences that begin with the same prompt, whose keys are kept and read once.
//
// The first attention takes the queries of all sequences for queries of one
// batch item: an order of dimensions says so, and nothing is copied. The second
// one sees the keys of each sequence alone. fa.combine merges both by their
// log-sum-exp.
//
// Run and verify:   fa-run examples/shared_prefix.mlir --verify

!queries = tensor<6x1x8x64xf16>
!partial = tensor<6x1x8x64xf32>
!prefix = tensor<1x512x2x64xf16>
!own = tensor<6x96x2x64xf16>

func.func @shared_prefix(%query: !queries, %prefix_keys: !prefix, %prefix_values: !prefix,
                         %keys: !own, %values: !own) -> (!queries, tensor<6x8x1xf32>) {
  %lengths = arith.constant dense<[96, 1, 50, 0, 64, 33]> : tensor<6xi32>
  %partial_init = tensor.empty() : !partial
  %lse_of_all_init = tensor.empty() : tensor<1x8x6xf32>
  %lse_init = tensor.empty() : tensor<6x8x1xf32>
  %shared, %lse_of_all = fa.attention
      ins(%query, %prefix_keys, %prefix_values : !queries, !prefix, !prefix)
      outs(%partial_init, %lse_of_all_init : !partial, tensor<1x8x6xf32>)
      {query_dims = #fa.dims<s, b, h, d>, output_dims = #fa.dims<s, b, h, d>}
  %shared_lse = linalg.transpose ins(%lse_of_all : tensor<1x8x6xf32>)
      outs(%lse_init : tensor<6x8x1xf32>) permutation = [2, 1, 0]
  %alone, %alone_lse = fa.attention
      ins(%query, %keys, %values : !queries, !own, !own)
      outs(%partial_init, %lse_init : !partial, tensor<6x8x1xf32>)
      key_lengths(%lengths : tensor<6xi32>)
  %init = tensor.empty() : !queries
  %output, %lse = fa.combine
      a(%shared, %shared_lse : !partial, tensor<6x8x1xf32>)
      b(%alone, %alone_lse : !partial, tensor<6x8x1xf32>)
      outs(%init, %lse_init : !queries, tensor<6x8x1xf32>)
      -> !queries, tensor<6x8x1xf32>
  return %output, %lse : !queries, tensor<6x8x1xf32>
}
