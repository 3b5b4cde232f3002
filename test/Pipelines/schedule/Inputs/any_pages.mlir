// Pages of one row, of three, and of as many as the call says; packed queries too.
#pages = #fa.dims<p, s, h, d>
#packed = #fa.dims<s, h, d>
!q = tensor<3x1x8x64xbf16>
!one = tensor<?x1x2x64xbf16>
func.func @one(%q: !q, %k: !one, %v: !one, %lengths: tensor<3xi32>, %table: tensor<3x?xi32>) -> !q {
  %o = tensor.empty() : !q
  %r = fa.attention ins(%q, %k, %v : !q, !one, !one) outs(%o : !q)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return %r : !q
}

!rows = tensor<?x4x64xf16>
!any = tensor<?x?x2x64xf16>
func.func @any(%q: !rows, %k: !any, %v: !any, %lengths: tensor<?xi32>, %starts: tensor<?xi32>, %table: tensor<?x?xi32>, %init: !rows) -> !rows {
  %r = fa.attention ins(%q, %k, %v : !rows, !any, !any) outs(%init : !rows)
      key_lengths(%lengths : tensor<?xi32>) query_starts(%starts : tensor<?xi32>) key_pages(%table : tensor<?x?xi32>) mask causal
      {query_dims = #packed, key_dims = #pages, value_dims = #pages, output_dims = #packed}
  return %r : !rows
}

!single = tensor<2x5x4x48xf32>
!three = tensor<?x2x3x48xf32>
func.func @three(%q: !single, %k: !three, %v: !three, %lengths: tensor<2xi32>, %table: tensor<2x?xi32>) -> !single {
  %o = tensor.empty() : !single
  %r = fa.attention ins(%q, %k, %v : !single, !three, !three) outs(%o : !single)
      key_lengths(%lengths : tensor<2xi32>) key_pages(%table : tensor<2x?xi32>)
      {key_dims = #fa.dims<p, h, s, d>, value_dims = #fa.dims<p, h, s, d>}
  return %r : !single
}
