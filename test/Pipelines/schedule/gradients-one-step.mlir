// REQUIRES: ptxas
//
// One query and one key: loops run once, so ptxas waits for products where the kernel does not. The numbers stay right, so
// that is a warning, and an error only for who asks.
//
// RUN: fa-compile %s --chip=sm_90a --images=both -o %t.kernels 2>&1 | FileCheck %s
// RUN: not fa-compile %s --chip=sm_90a --images=both --fail-on-spill -o %t.none 2>&1 | FileCheck %s --check-prefix=ERROR
//
// CHECK: warning: ptxas does not do what the kernel says: {{.*}}warpgroup.wait is injected
// CHECK: wrote {{.*}}.cubin
// ERROR: error: ptxas does not do what the kernel says: {{.*}}warpgroup.wait is injected
!d8 = tensor<1x1x1x8xf16>
!d128 = tensor<1x1x1x128xf16>
!row = tensor<1x1x1xf32>
func.func @gradients(%query: !d8, %key: !d8, %value: !d128, %output: !d128, %output_gradient: !d128, %lse: !row,
    %dlse: !row, %scale: f32, %cap: f32, %dq: !d8, %dk: !d8, %dv: tensor<1x1x1x128xf32>, %dcap: tensor<f32>)
    -> (!d8, !d8, tensor<1x1x1x128xf32>, tensor<f32>) {
  %r:4 = fa.attention_gradient ins(%query, %key, %value : !d8, !d8, !d128) of(%output, %lse : !d128, !row)
    gradients(%output_gradient, %dlse : !d128, !row)
    outs(query = %dq : !d8, key = %dk : !d8, value = %dv : tensor<1x1x1x128xf32>, capture[0] = %dcap : tensor<f32>)
    scale(%scale) score(%s, %b, %h, %i, %j) captures(%t = %cap : f32) {
      %ratio = arith.divf %s, %t : f32
      %tanh = math.tanh %ratio : f32
      %capped = arith.mulf %tanh, %t : f32
      fa.yield %capped : f32
    } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
      %ratio = arith.divf %s, %t : f32
      %tanh = math.tanh %ratio : f32
      %square = arith.mulf %tanh, %tanh : f32
      %one = arith.constant 1.0 : f32
      %slope = arith.subf %one, %square : f32
      %ds = arith.mulf %dx, %slope : f32
      %inner = arith.mulf %ratio, %slope : f32
      %change = arith.subf %tanh, %inner : f32
      %dt = arith.mulf %dx, %change : f32
      fa.scatter_gradient %dt to %t[] : f32, f32
      fa.yield %ds : f32
    } {query_dims = #fa.dims<s, b, h, d>, key_dims = #fa.dims<h, b, s, d>, value_dims = #fa.dims<h, b, s, d>,
       output_dims = #fa.dims<b, h, s, d>, output_gradient_dims = #fa.dims<h, b, s, d>,
       query_gradient_dims = #fa.dims<s, h, b, d>, key_gradient_dims = #fa.dims<h, b, s, d>,
       value_gradient_dims = #fa.dims<s, b, h, d>}
  return %r#0, %r#1, %r#2, %r#3 : !d8, !d8, tensor<1x1x1x128xf32>, tensor<f32>
}
