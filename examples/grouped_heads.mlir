// Grouped-query attention: 8 query heads share 2 key and value heads.
//
// Query head h reads key head h floordiv (8 / 2). Keys and values are never
// repeated in memory. One key head for all query heads is multi-query
// attention and is written in the same way.
//
// Run and verify:   fa-run examples/grouped_heads.mlir --verify

func.func @grouped_heads(%query: tensor<2x384x8x64xbf16>, %key: tensor<2x384x2x64xbf16>,
                         %value: tensor<2x384x2x64xbf16>) -> tensor<2x384x8x64xbf16> {
  %init = tensor.empty() : tensor<2x384x8x64xbf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x384x8x64xbf16>, tensor<2x384x2x64xbf16>, tensor<2x384x2x64xbf16>)
      outs(%init : tensor<2x384x8x64xbf16>)
      mask causal
  return %output : tensor<2x384x8x64xbf16>
}
