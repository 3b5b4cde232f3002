// Destinations that are other tensors than the results: what lies past a query
// length is copied.

// The grid of the copies is that of all sizes; some columns fill no tile.
func.func @any_size(%query: tensor<?x?x?x40xbf16>, %key: tensor<?x?x?x40xbf16>, %value: tensor<?x?x?x72xbf16>,
                    %lengths: tensor<?xi32>, %init: tensor<?x?x?x72xbf16>, %lse_init: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x72xbf16>, tensor<?x?x?xf32>) {
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<?x?x?x40xbf16>, tensor<?x?x?x40xbf16>, tensor<?x?x?x72xbf16>)
      outs(%init, %lse_init : tensor<?x?x?x72xbf16>, tensor<?x?x?xf32>)
      query_lengths(%lengths : tensor<?xi32>)
      mask causal
  return %output, %lse : tensor<?x?x?x72xbf16>, tensor<?x?x?xf32>
}

// A problem of one tile has no loop, its copies have.
func.func @one_tile(%query: tensor<1x33x1x20xf16>, %key: tensor<1x64x1x20xf16>, %value: tensor<1x64x1x20xf16>,
                    %lengths: tensor<1xi32>, %init: tensor<1x33x1x20xf16>) -> tensor<1x33x1x20xf16> {
  %output = fa.attention
      ins(%query, %key, %value : tensor<1x33x1x20xf16>, tensor<1x64x1x20xf16>, tensor<1x64x1x20xf16>)
      outs(%init : tensor<1x33x1x20xf16>)
      query_lengths(%lengths : tensor<1xi32>)
  return %output : tensor<1x33x1x20xf16>
}
