// One query and parts of the keys, also in lanes; packed queries on pages; and what --coverage cannot ask about.
!q = tensor<1x1x4x64xbf16>
!k = tensor<1x?x1x64xbf16>
!l = tensor<1x4x1xf32>
func.func @parts(%q: !q, %k: !k, %v: !k, %lengths: tensor<1xi32>) -> (!q, !l) {
  %o = tensor.empty() : !q
  %l = tensor.empty() : !l
  %r:2 = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o, %l : !q, !l) key_lengths(%lengths : tensor<1xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 128>}
  return %r#0, %r#1 : !q, !l
}

// Sequences of lengths of their own, in lanes.
!qs = tensor<?x1x2x64xbf16>
!ks = tensor<?x?x1x64xbf16>
!ls = tensor<?x2x1xf32>
func.func @lanes(%q: !qs, %k: !ks, %v: !ks, %lengths: tensor<?xi32>) -> (!qs, !ls) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %q, %c0 : !qs
  %o = tensor.empty(%b) : !qs
  %l = tensor.empty(%b) : !ls
  %r:2 = fa.attention ins(%q, %k, %v : !qs, !ks, !ks) outs(%o, %l : !qs, !ls) key_lengths(%lengths : tensor<?xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 64>}
  return %r#0, %r#1 : !qs, !ls
}

!rows = tensor<?x2x64xf16>
!pool = tensor<?x16x2x64xf16>
!sums = tensor<2x?xf32>
#packed = #fa.dims<s, h, d>
#pages = #fa.dims<p, s, h, d>
func.func @full(%q: !rows, %k: !pool, %v: !pool, %lengths: tensor<?xi32>, %starts: tensor<?xi32>, %table: tensor<?x?xi32>, %o: !rows, %l: !sums)
    -> (!rows, !sums) {
  %r:2 = fa.attention ins(%q, %k, %v : !rows, !pool, !pool) outs(%o, %l : !rows, !sums)
      key_lengths(%lengths : tensor<?xi32>) query_starts(%starts : tensor<?xi32>) key_pages(%table : tensor<?x?xi32>)
      {query_dims = #packed, key_dims = #pages, value_dims = #pages, output_dims = #packed}
  return %r#0, %r#1 : !rows, !sums
}
func.func @causal(%q: !rows, %k: !pool, %v: !pool, %lengths: tensor<?xi32>, %starts: tensor<?xi32>, %table: tensor<?x?xi32>, %o: !rows, %l: !sums)
    -> (!rows, !sums) {
  %r:2 = fa.attention ins(%q, %k, %v : !rows, !pool, !pool) outs(%o, %l : !rows, !sums)
      key_lengths(%lengths : tensor<?xi32>) query_starts(%starts : tensor<?xi32>) key_pages(%table : tensor<?x?xi32>) mask causal
      {query_dims = #packed, key_dims = #pages, value_dims = #pages, output_dims = #packed}
  return %r#0, %r#1 : !rows, !sums
}

// A key whose weight f16 does not hold.
func.func @small(%q: tensor<1x1x1x16xf16>, %k: tensor<1x8x1x16xf16>, %v: tensor<1x8x1x16xf16>) -> (tensor<1x1x1x16xf16>, tensor<1x1x1xf32>) {
  %o = tensor.empty() : tensor<1x1x1x16xf16>
  %l = tensor.empty() : tensor<1x1x1xf32>
  %r:2 = fa.attention ins(%q, %k, %v : tensor<1x1x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>)
      outs(%o, %l : tensor<1x1x1x16xf16>, tensor<1x1x1xf32>)
      score(%s, %b, %h, %i, %j) {
        %three = arith.constant 3 : index
        %less = arith.constant -30.0 : f32
        %zero = arith.constant 0.0 : f32
        %is_three = arith.cmpi eq, %j, %three : index
        %added = arith.select %is_three, %less, %zero : f32
        %y = arith.addf %s, %added : f32
        fa.yield %y : f32
      }
  return %r#0, %r#1 : tensor<1x1x1x16xf16>, tensor<1x1x1xf32>
}

!s = tensor<1x8x1x16xf32>
func.func @no_lse(%q: !s, %k: !s, %v: !s) -> !s {
  %o = tensor.empty() : !s
  %r = fa.attention ins(%q, %k, %v : !s, !s, !s) outs(%o : !s)
  return %r : !s
}
func.func @one_operand(%q: !s, %k: !s) -> (!s, tensor<1x1x8xf32>) {
  %o = tensor.empty() : !s
  %l = tensor.empty() : tensor<1x1x8xf32>
  %r:2 = fa.attention ins(%q, %k, %k : !s, !s, !s) outs(%o, %l : !s, tensor<1x1x8xf32>)
  return %r#0, %r#1 : !s, tensor<1x1x8xf32>
}
func.func @none(%x: !s) -> !s {
  return %x : !s
}
