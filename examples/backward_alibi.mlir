// Gradients of attention with linear biases, and of their slopes.
//
// `fa-differentiate-score` derives how the score function depends on the scores and on
// the slopes; each pair then adds to the slope of its head.
//
// Run and verify:   fa-run examples/backward_alibi.mlir --verify

!q = tensor<2x256x8x64xf32>
!k = tensor<2x256x8x64xf32>
!row = tensor<2x8x256xf32>

func.func @backward_alibi(%query: !q, %key: !k, %value: !k, %output_gradient: !q)
    -> (!q, !k, !k, tensor<8xf32>) {
  %slopes = arith.constant dense<[0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]> : tensor<8xf32>
  %init = tensor.empty() : !q
  %init_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      score alibi(%slopes : tensor<8xf32>) mask causal
  %init_query = tensor.empty() : !q
  %init_key = tensor.empty() : !k
  %init_slopes = tensor.empty() : tensor<8xf32>
  %gradients:4 = fa.attention_gradient ins(%query, %key, %value : !q, !k, !k) of(%output, %lse : !q, !row)
      gradients(%output_gradient : !q)
      outs(query = %init_query : !q, key = %init_key : !k, value = %init_key : !k,
           capture[0] = %init_slopes : tensor<8xf32>)
      score alibi(%slopes : tensor<8xf32>) mask causal
  return %gradients#0, %gradients#1, %gradients#2, %gradients#3 : !q, !k, !k, tensor<8xf32>
}
