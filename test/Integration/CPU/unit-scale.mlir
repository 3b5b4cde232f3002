// Gradients of f32 with a scale of 1, given or of head dim 1: sums are copied to
// where they leave, and no function of another library does that.

// RUN: fa-run %s --entry=head_dim_of_one --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --entry=scale_of_one --target=cpu --verify | FileCheck %s

// CHECK: verified all rows

!q = memref<1x40x2x1xf32, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<1x3x2x1xf32>
!lse = memref<1x2x40xf32>
func.func @head_dim_of_one(%query: !q, %key: !k, %output: !q, %lse: !lse, %query_gradient: !q, %key_gradient: !k) {
  fa.attention_gradient ins(%query, %key, %key : !q, !k, !k) of(%output, %lse : !q, !lse) gradients(%output : !q)
      outs(query = %query_gradient : !q, key = %key_gradient : !k)
  return
}

!t = tensor<2x40x4x16xf32>
!row = tensor<2x4x40xf32>
func.func @scale_of_one(%query: !t, %key: !t, %value: !t, %output_gradient: !t) -> (!t, !t, !t) {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : !t
  %empty_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%empty, %empty_lse : !t, !row) scale(%one) mask causal
  %dq, %dk, %dv = fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !row)
      gradients(%output_gradient : !t) outs(query = %empty : !t, key = %empty : !t, value = %empty : !t) scale(%one) mask causal
  return %dq, %dk, %dv : !t, !t, !t
}
