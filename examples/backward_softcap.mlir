// Gradients of attention with capped scores.
//
// The derivative of `cap * tanh(s / cap)` is `1 - tanh(s / cap)^2`, from the tanh that
// the score computes.
//
// Run and verify:   fa-run examples/backward_softcap.mlir --verify

!q = tensor<2x256x4x64xf32>
!k = tensor<2x256x4x64xf32>
!row = tensor<2x4x256xf32>

func.func @backward_softcap(%query: !q, %key: !k, %value: !k, %output_gradient: !q)
    -> (!q, !k, !k) {
  %cap = arith.constant 5.0 : f32
  %init = tensor.empty() : !q
  %init_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      score softcap(%cap) mask causal
  %init_query = tensor.empty() : !q
  %init_key = tensor.empty() : !k
  %gradients:3 = fa.attention_gradient ins(%query, %key, %value : !q, !k, !k) of(%output, %lse : !q, !row)
      gradients(%output_gradient : !q)
      outs(query = %init_query : !q, key = %init_key : !k, value = %init_key : !k)
      score softcap(%cap) mask causal
  return %gradients#0, %gradients#1, %gradients#2 : !q, !k, !k
}
