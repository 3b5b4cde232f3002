// Functions with attention get a function of their gradients.
// RUN: fa-opt %s --fa-differentiate --split-input-file | FileCheck %s

!t = tensor<1x8x2x16xf32>

// The function stays as it is. Its gradients compute it again, with lse.
// CHECK-LABEL: func.func @plain(
// CHECK: fa.attention
// CHECK-NOT: tensor<1x2x8xf32>
// CHECK-LABEL: func.func @plain_vjp(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x2x16xf32>, %[[K:.*]]: tensor<1x8x2x16xf32>, %[[DO:.*]]: tensor<1x8x2x16xf32>) -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
// CHECK: %[[O:.*]]:2 = fa.attention ins(%[[Q]], %[[K]], %[[K]] : {{.*}}) outs({{.*}} : tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)
// CHECK: %[[G:.*]]:3 = fa.attention_gradient ins(%[[Q]], %[[K]], %[[K]] : {{.*}}) of(%[[O]]#0, %[[O]]#1 : {{.*}}) gradients(%[[DO]] : tensor<1x8x2x16xf32>)
// CHECK-SAME: outs(query = %{{[0-9]+}} : {{.*}}, key = %{{[0-9]+}} : {{.*}}, value = %{{[0-9]+}} : {{.*}})
// What is read twice has the sum of both gradients.
// CHECK: %[[DK:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<1x8x2x16xf32>
// CHECK: return %[[G]]#0, %[[DK]]
func.func @plain(%q: !t, %k: !t) -> !t {
  %e = tensor.empty() : !t
  %o = fa.attention ins(%q, %k, %k : !t, !t, !t) outs(%e : !t) mask causal
  return %o : !t
}
