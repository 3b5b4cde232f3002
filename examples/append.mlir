// A step of generating text: new keys and values go into a paged cache, then attention reads it.
//
// Three sequences have 3, 1 and 4 new tokens, packed. The lengths count these too, so
// the last row of sequence 0 is row 69 of its pages. Keys are turned by their position
// (rotary embedding, the first half of the head dim with the second); queries come
// turned. Pages that no new row lies in stay as they are.
//
// Run and verify:   fa-run examples/append.mlir --verify

!queries = tensor<8x8x64xbf16>
!new = tensor<8x2x64xbf16>
!pool = tensor<12x16x2x64xbf16>
!angles = tensor<128x32xf32>

func.func @append(%query: !queries, %new_keys: !new, %new_values: !new, %keys: !pool, %values: !pool,
                  %cosines: !angles, %sines: !angles) -> (!queries, !pool, !pool) {
  %starts = arith.constant dense<[0, 3, 4, 8]> : tensor<4xi32>
  %lengths = arith.constant dense<[70, 17, 4]> : tensor<3xi32>
  %table = arith.constant dense<[[7, 2, 11, 0, 5], [9, 3, -1, -1, -1], [1, -1, -1, -1, -1]]> : tensor<3x5xi32>
  %cache:2 = fa.append ins(%new_keys, %new_values : !new, !new) outs(%keys, %values : !pool, !pool)
      key_lengths(%lengths : tensor<3xi32>) key_starts(%starts : tensor<4xi32>) key_pages(%table : tensor<3x5xi32>)
      rotary halves(%cosines, %sines : !angles, !angles)
      {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>,
       key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>} -> !pool, !pool
  %init = tensor.empty() : !queries
  %output = fa.attention ins(%query, %cache#0, %cache#1 : !queries, !pool, !pool) outs(%init : !queries)
      key_lengths(%lengths : tensor<3xi32>) query_starts(%starts : tensor<4xi32>) key_pages(%table : tensor<3x5xi32>)
      mask causal
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>,
       output_dims = #fa.dims<s, h, d>}
  return %output, %cache#0, %cache#1 : !queries, !pool, !pool
}
