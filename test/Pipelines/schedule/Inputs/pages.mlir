// Keys and values in pages of 64 rows, and of 16 rows of which heads come first, in two parts.
!q = tensor<3x1x8x64xbf16>
!pool = tensor<?x64x2x64xbf16>
func.func @pages_64(%q: !q, %k: !pool, %v: !pool, %lengths: tensor<3xi32>, %table: tensor<3x?xi32>) -> !q {
  %o = tensor.empty() : !q
  %r = fa.attention ins(%q, %k, %v : !q, !pool, !pool) outs(%o : !q)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x?xi32>) mask causal
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>,
       config = #fa.config<query_block = 64, key_block = 64>}
  return %r : !q
}

!small = tensor<?x2x16x64xbf16>
func.func @pages_16(%q: !q, %k: !small, %v: !small, %lengths: tensor<3xi32>, %table: tensor<3x?xi32>) -> !q {
  %o = tensor.empty() : !q
  %r = fa.attention ins(%q, %k, %v : !q, !small, !small) outs(%o : !q)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x?xi32>)
      {key_dims = #fa.dims<p, h, s, d>, value_dims = #fa.dims<p, h, s, d>,
       config = #fa.config<query_block = 64, key_block = 16, key_splits = 2>}
  return %r : !q
}

// One query whose window begins within a block of keys, which is visited whole.
func.func @pages_window(%q: !q, %k: !pool, %v: !pool, %lengths: tensor<3xi32>, %table: tensor<3x?xi32>, %left: index) -> !q {
  %zero = arith.constant 0 : index
  %o = tensor.empty() : !q
  %r = fa.attention ins(%q, %k, %v : !q, !pool, !pool) outs(%o : !q)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x?xi32>) mask window(%left, %zero)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return %r : !q
}

// Columns behind the head dim are filled with zeros, also of a page that is none.
!q40 = tensor<3x1x8x40xbf16>
!pool40 = tensor<?x64x2x40xbf16>
func.func @pages_40(%q: !q40, %k: !pool40, %v: !pool40, %lengths: tensor<3xi32>, %table: tensor<3x?xi32>) -> !q40 {
  %o = tensor.empty() : !q40
  %r = fa.attention ins(%q, %k, %v : !q40, !pool40, !pool40) outs(%o : !q40)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return %r : !q40
}
