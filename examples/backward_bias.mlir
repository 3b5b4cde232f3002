// Gradients of attention with a bias for each pair, and of the bias.
//
// The batch of the bias has size 1, so all batch items add to the same gradient.
//
// Run and verify:   fa-run examples/backward_bias.mlir --verify

!q = tensor<2x128x4x64xf32>
!k = tensor<2x128x4x64xf32>
!row = tensor<2x4x128xf32>

func.func @backward_bias(%query: !q, %key: !k, %value: !k, %output_gradient: !q, %bias: tensor<1x4x128x128xf32>)
    -> (!q, !k, !k, tensor<1x4x128x128xf32>) {
  %init = tensor.empty() : !q
  %init_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      score bias(%bias : tensor<1x4x128x128xf32>)
  %init_query = tensor.empty() : !q
  %init_key = tensor.empty() : !k
  %init_bias = tensor.empty() : tensor<1x4x128x128xf32>
  %gradients:4 = fa.attention_gradient ins(%query, %key, %value : !q, !k, !k) of(%output, %lse : !q, !row)
      gradients(%output_gradient : !q)
      outs(query = %init_query : !q, key = %init_key : !k, value = %init_key : !k,
           capture[0] = %init_bias : tensor<1x4x128x128xf32>)
      score bias(%bias : tensor<1x4x128x128xf32>)
  return %gradients#0, %gradients#1, %gradients#2, %gradients#3 : !q, !k, !k, tensor<1x4x128x128xf32>
}
