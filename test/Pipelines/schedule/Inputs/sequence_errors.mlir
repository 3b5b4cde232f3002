// What is wrong with sequences, by themselves and ahead of an attention on the same operands.
!q = tensor<?x4x64xbf16>
!pool = tensor<?x16x2x64xbf16>
!packed = tensor<?x2x64xbf16>
!table = tensor<?xi32>
#packed = #fa.dims<s, h, d>
#pages = #fa.dims<p, s, h, d>

func.func @pages(%q: !q, %k: !pool, %v: !pool, %n: !table, %m: !table, %starts: !table, %pages: tensor<?x?xi32>) -> !table {
  %c0 = arith.constant 0 : index
  %sequences = tensor.dim %n, %c0 : !table
  %words = tensor.empty(%sequences) : !table
  %r = fa.sequence_errors ins(%q, %k, %v : !q, !pool, !pool) outs(%words : !table)
      query_lengths(%n : !table) key_lengths(%m : !table) query_starts(%starts : !table) key_pages(%pages : tensor<?x?xi32>)
      {query_dims = #packed, key_dims = #pages, value_dims = #pages} -> !table
  return %r : !table
}

func.func @with_attention(%q: !q, %k: !packed, %starts: !table, %keys: !table, %init: !q) -> (!q, !table) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %entries = tensor.dim %starts, %c0 : !table
  %sequences = arith.subi %entries, %c1 : index
  %words = tensor.empty(%sequences) : !table
  %errors = fa.sequence_errors ins(%q, %k, %k : !q, !packed, !packed) outs(%words : !table)
      query_starts(%starts : !table) key_starts(%keys : !table)
      {query_dims = #packed, key_dims = #packed, value_dims = #packed} -> !table
  %o = fa.attention ins(%q, %k, %k : !q, !packed, !packed) outs(%init : !q)
      query_starts(%starts : !table) key_starts(%keys : !table)
      {query_dims = #packed, key_dims = #packed, value_dims = #packed, output_dims = #packed}
  return %o, %errors : !q, !table
}
