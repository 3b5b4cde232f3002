// Gradients of attention with dropout, whose head dim is above 128: a kernel for each.
!t = memref<?x?x?x256xbf16>
!lse = memref<?x?x?xf32>
!number = memref<i64>
func.func @dropout(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse, %output_gradient: !t, %query_gradient: !t, %key_gradient: !t,
    %value_gradient: !t, %p: f32, %seed: !number, %offset: !number) {
  fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !lse) gradients(%output_gradient : !t)
      outs(query = %query_gradient : !t, key = %key_gradient : !t, value = %value_gradient : !t) mask causal
      dropout(%p, %seed, %offset : f32, !number, !number)
  return
}
