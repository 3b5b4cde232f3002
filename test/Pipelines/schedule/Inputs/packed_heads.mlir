// Short queries of heads that share key heads: what kernels read where it lies, and what is copied.
!q = tensor<2x4x16x64xbf16>
!k = tensor<2x?x2x64xbf16>
func.func @tokens(%q: !q, %k: !k, %v: !k, %lengths: tensor<2xi32>) -> (!q, tensor<2x16x4xf32>) {
  %o = tensor.empty() : !q
  %l = tensor.empty() : tensor<2x16x4xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o, %l : !q, tensor<2x16x4xf32>)
      key_lengths(%lengths : tensor<2xi32>) mask causal
  return %r#0, %r#1 : !q, tensor<2x16x4xf32>
}

// Two groups of warps, 5 queries of the last 8 of one, and heads in front. Keys are too few for parts.
!qh = tensor<1x8x13x128xf16>
!kh = tensor<1x300x1x128xf16>
func.func @heads_first(%q: !qh, %k: !kh, %v: !kh, %slopes: tensor<8xf32>) -> (!qh, tensor<1x8x13xf32>) {
  %c0 = arith.constant 0 : index
  %left = arith.constant 100 : index
  %o = tensor.empty() : !qh
  %l = tensor.empty() : tensor<1x8x13xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !qh, !kh, !kh) outs(%o, %l : !qh, tensor<1x8x13xf32>)
      score alibi(%slopes : tensor<8xf32>) mask window(%left, %c0)
      {query_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
  return %r#0, %r#1 : !qh, tensor<1x8x13xf32>
}

// Groups of 6 are no part of 64 rows.
!q6 = tensor<1x3x6x64xf16>
!k6 = tensor<1x70x1x64xf16>
func.func @six(%q: !q6, %k: !k6, %v: !k6) -> (!q6, tensor<1x6x3xf32>) {
  %o = tensor.empty() : !q6
  %l = tensor.empty() : tensor<1x6x3xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q6, !k6, !k6) outs(%o, %l : !q6, tensor<1x6x3xf32>) mask causal
  return %r#0, %r#1 : !q6, tensor<1x6x3xf32>
}

// Pages, and a dim order of the output of its own.
!qp = tensor<2x5x8x64xbf16>
!op = tensor<2x8x5x64xbf16>
!pool = tensor<9x16x2x64xbf16>
func.func @pages(%q: !qp, %k: !pool, %v: !pool, %lengths: tensor<2xi32>, %table: tensor<2x?xi32>) -> (!op, tensor<2x8x5xf32>) {
  %o = tensor.empty() : !op
  %l = tensor.empty() : tensor<2x8x5xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !qp, !pool, !pool) outs(%o, %l : !op, tensor<2x8x5xf32>)
      key_lengths(%lengths : tensor<2xi32>) key_pages(%table : tensor<2x?xi32>) mask causal
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>, output_dims = #fa.dims<b, h, s, d>}
  return %r#0, %r#1 : !op, tensor<2x8x5xf32>
}
