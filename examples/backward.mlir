// Gradients of attention.
//
// Forward and backward in one function: from the gradient of the output to those of
// query, key and value. Beside its operands the backward reads the output and the
// log-sum-exp of each row, and nothing of size queries x keys.
//
// Run and verify:   fa-run examples/backward.mlir --verify

!q = tensor<2x256x4x64xf32>
!k = tensor<2x256x4x64xf32>
!row = tensor<2x4x256xf32>

func.func @backward(%query: !q, %key: !k, %value: !k, %output_gradient: !q)
    -> (!q, !k, !k) {
  %init = tensor.empty() : !q
  %init_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      mask causal
  %init_query = tensor.empty() : !q
  %init_key = tensor.empty() : !k
  %gradients:3 = fa.attention_gradient ins(%query, %key, %value : !q, !k, !k) of(%output, %lse : !q, !row)
      gradients(%output_gradient : !q)
      outs(query = %init_query : !q, key = %init_key : !k, value = %init_key : !k)
      mask causal
  return %gradients#0, %gradients#1, %gradients#2 : !q, !k, !k
}
