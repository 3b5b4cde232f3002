// Gradients of attention, in one pass: a kernel for each row's numbers, one for blocks of keys, of which the numbers of
// heads choose between two, and one for what is added up of queries.

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
func.func @gradients(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse, %output_gradient: !t,
    %query_gradient: !t, %key_gradient: !t, %value_gradient: !t) {
  fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !lse) gradients(%output_gradient : !t)
      outs(query = %query_gradient : !t, key = %key_gradient : !t, value = %value_gradient : !t) mask causal
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, gradient_form = one_pass>}
  return
}
