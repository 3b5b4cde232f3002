// A gradient of three configurations: one pass of few queries a step, one of more, and two passes.

!t = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
func.func @gradients(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse, %output_gradient: !t,
    %query_gradient: !t, %key_gradient: !t, %value_gradient: !t) {
  fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !lse) gradients(%output_gradient : !t)
      outs(query = %query_gradient : !t, key = %key_gradient : !t, value = %value_gradient : !t) mask causal
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false,
         longer = #fa.config<query_block = 80, key_block = 128, deterministic = false, from_keys = 200, from_queries = 160,
           longer = #fa.config<query_block = 128, key_block = 64, from_keys = 400, from_queries = 400>>>}
  return
}
