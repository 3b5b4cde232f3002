// Gradients of packed sequences with room behind their queries. ATTRIBUTES is filled in by tests, which change head dims too.
!q = memref<?x2x128xf16>
!v = memref<?x2x128xf16>
!lse = memref<2x?xf32>
!table = memref<?xi32>
#dims = #fa.dims<s, h, d>
func.func @backward(%query: !q, %key: !q, %value: !v, %output: !v, %lse: !lse, %output_gradient: !v,
    %query_gradient: !q, %key_gradient: !q, %value_gradient: !v, %query_starts: !table, %key_starts: !table, %lengths: !table) {
  fa.attention_gradient ins(%query, %key, %value : !q, !q, !v) of(%output, %lse : !v, !lse) gradients(%output_gradient : !v)
      outs(query = %query_gradient : !q, key = %key_gradient : !q, value = %value_gradient : !v)
      query_lengths(%lengths : !table) query_starts(%query_starts : !table) key_starts(%key_starts : !table) mask causal
      {ATTRIBUTES, query_dims = #dims, key_dims = #dims, value_dims = #dims, output_dims = #dims, output_gradient_dims = #dims,
       query_gradient_dims = #dims, key_gradient_dims = #dims, value_gradient_dims = #dims}
  return
}
