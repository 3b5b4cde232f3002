// Queries of (batch, heads, sequence, head dim), keys of (sequence, batch,
// heads, head dim), values of (heads, sequence, batch, head dim).

func.func @orders(%query: tensor<2x4x150x64xbf16>, %key: tensor<200x2x2x64xbf16>,
                  %value: tensor<2x200x2x64xbf16>)
    -> (tensor<2x4x150x64xbf16>, tensor<2x4x150xf32>) {
  %init = tensor.empty() : tensor<2x4x150x64xbf16>
  %init_lse = tensor.empty() : tensor<2x4x150xf32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<2x4x150x64xbf16>, tensor<200x2x2x64xbf16>, tensor<2x200x2x64xbf16>)
      outs(%init, %init_lse : tensor<2x4x150x64xbf16>, tensor<2x4x150xf32>)
      mask causal
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<s, b, h, d>,
       value_dims = #fa.dims<h, s, b, d>, output_dims = #fa.dims<b, h, s, d>}
  return %output, %lse : tensor<2x4x150x64xbf16>, tensor<2x4x150xf32>
}

// As above, with queries and outputs of (sequence, heads, batch, head dim).
func.func @sequence_first(%query: tensor<150x4x2x64xbf16>, %key: tensor<2x4x200x64xbf16>,
                          %value: tensor<2x4x200x64xbf16>) -> tensor<150x4x2x64xbf16> {
  %init = tensor.empty() : tensor<150x4x2x64xbf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<150x4x2x64xbf16>, tensor<2x4x200x64xbf16>, tensor<2x4x200x64xbf16>)
      outs(%init : tensor<150x4x2x64xbf16>)
      {query_dims = #fa.dims<s, h, b, d>, key_dims = #fa.dims<b, h, s, d>,
       value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<s, h, b, d>}
  return %output : tensor<150x4x2x64xbf16>
}

// Outputs that no operand's shared memory has the shape of.
func.func @wide_values(%query: tensor<2x4x150x64xf16>, %key: tensor<2x4x200x64xf16>,
                       %value: tensor<2x4x200x128xf16>) -> tensor<2x4x150x128xf16> {
  %init = tensor.empty() : tensor<2x4x150x128xf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x4x150x64xf16>, tensor<2x4x200x64xf16>, tensor<2x4x200x128xf16>)
      outs(%init : tensor<2x4x150x128xf16>)
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>,
       value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
  return %output : tensor<2x4x150x128xf16>
}

// Head dims in other places than the last; outputs that are copied before.
func.func @head_dims_anywhere(%query: tensor<2x4x64x150xbf16>, %key: tensor<64x200x2x2xbf16>,
                              %value: tensor<2x80x200x2xbf16>, %lengths: tensor<2xi32>,
                              %init: tensor<2x80x4x150xbf16>) -> tensor<2x80x4x150xbf16> {
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x4x64x150xbf16>, tensor<64x200x2x2xbf16>, tensor<2x80x200x2xbf16>)
      outs(%init : tensor<2x80x4x150xbf16>)
      query_lengths(%lengths : tensor<2xi32>)
      mask causal
      {query_dims = #fa.dims<b, h, d, s>, key_dims = #fa.dims<d, s, h, b>,
       value_dims = #fa.dims<b, d, s, h>, output_dims = #fa.dims<b, d, h, s>}
  return %output : tensor<2x80x4x150xbf16>
}

// As above in f32, of one tile.
func.func @one_tile(%query: tensor<1x1x40x30xf32>, %key: tensor<1x1x40x60xf32>, %value: tensor<1x1x40x60xf32>)
    -> tensor<1x1x40x30xf32> {
  %init = tensor.empty() : tensor<1x1x40x30xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<1x1x40x30xf32>, tensor<1x1x40x60xf32>, tensor<1x1x40x60xf32>)
      outs(%init : tensor<1x1x40x30xf32>)
      {query_dims = #fa.dims<b, h, d, s>, key_dims = #fa.dims<b, h, d, s>,
       value_dims = #fa.dims<b, h, d, s>, output_dims = #fa.dims<b, h, d, s>}
  return %output : tensor<1x1x40x30xf32>
}
