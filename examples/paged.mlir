// Keys and values in pages, as inference engines keep them.
//
// The pool has 12 pages of 16 rows. Row b of the table lists the pages of
// sequence b: key j is row j mod 16 of page table[b, j floordiv 16]. Sequences
// have 70, 16 and 0 keys; entries past a length are not read. Each has 4 new
// queries, and the last one sees the last key.
//
// Run and verify:   fa-run examples/paged.mlir --verify

!queries = tensor<3x4x8x64xf16>
!pool = tensor<12x16x2x64xf16>

func.func @paged(%query: !queries, %keys: !pool, %values: !pool) -> !queries {
  %lengths = arith.constant dense<[70, 16, 0]> : tensor<3xi32>
  %table = arith.constant dense<[[7, 2, 11, 0, 5], [9, -1, -1, -1, -1], [-1, -1, -1, -1, -1]]> : tensor<3x5xi32>
  %init = tensor.empty() : !queries
  %output = fa.attention
      ins(%query, %keys, %values : !queries, !pool, !pool)
      outs(%init : !queries)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x5xi32>)
      mask causal
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return %output : !queries
}
