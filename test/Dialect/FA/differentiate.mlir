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

// -----

!t = tensor<1x8x2x16xf32>

// What a sink captures has a gradient; a sink that no argument reaches is left to lse.
// CHECK-LABEL: func.func @sinks_vjp(
// CHECK-SAME: -> (tensor<1x8x2x16xf32>, tensor<2xf32>)
// CHECK: %[[G:.*]]:4 = fa.attention_gradient
// CHECK-SAME: outs(query = {{.*}}, key = {{.*}}, value = {{.*}}, sink_capture[0] = %{{[0-9]+}} : tensor<2xf32>)
// CHECK: sink_gradient(%[[DX:.*]], %{{.*}}, %[[H:.*]], %{{.*}}, %[[T:.*]]) {
// CHECK-NEXT: fa.scatter_gradient %[[DX]] to %[[T]][%[[H]]] : f32, tensor<2xf32>
// CHECK-NEXT: fa.yield
// CHECK: return %{{.*}}, %[[G]]#3
func.func @sinks(%q: !t, %sinks: tensor<2xf32>) -> !t {
  %e = tensor.empty() : !t
  %o = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%e : !t)
      sink(%b, %h, %i) captures(%t = %sinks : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        fa.yield %x : f32
      }
  return %o : !t
}

// -----

!t = tensor<1x8x2x16xf32>

// CHECK-LABEL: func.func @constant_sink_vjp(
// CHECK: fa.attention_gradient
// CHECK-NOT: sink
// CHECK: return
func.func @constant_sink(%q: !t) -> !t {
  %e = tensor.empty() : !t
  %o = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%e : !t)
      sink(%b, %h, %i) {
        %x = arith.constant 1.0 : f32
        fa.yield %x : f32
      }
  return %o : !t
}

// -----

!t = tensor<1x8x2x16xf32>

// What is stopped takes no gradient back: of x * stop(x) one factor, of a scalar that is stopped nothing, though its
// product reaches the result.
// CHECK-LABEL: func.func @stopped_vjp(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x2x16xf32>, %[[C:.*]]: f32, %[[DO:.*]]: tensor<1x8x2x16xf32>)
// CHECK: %[[G:.*]]:3 = fa.attention_gradient
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:[^:]*]]: f32, %[[SCALE:[^:]*]]: f32, %[[DY:[^:]*]]: f32
// CHECK-NOT: fa.stop_gradient
// CHECK: %[[Y:.*]] = arith.mulf %[[DY]], %[[SCALE]] : f32
// CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[Y]], %[[X]] : f32
// CHECK-NEXT: linalg.yield %[[DX]] : f32
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: return %{{.*}}, %[[ZERO]] : tensor<1x8x2x16xf32>, f32
func.func @stopped(%q: !t, %c: f32) -> !t {
  %e = tensor.empty() : !t
  %double = arith.addf %c, %c : f32
  %fixed = fa.stop_gradient %double : f32
  %square = linalg.generic {
      indexing_maps = [affine_map<(b, s, h, d) -> (b, s, h, d)>, affine_map<(b, s, h, d) -> ()>, affine_map<(b, s, h, d) -> (b, s, h, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q, %fixed : !t, f32) outs(%e : !t) {
  ^bb0(%x: f32, %scale: f32, %out: f32):
    %stopped = fa.stop_gradient %x : f32
    %p = arith.mulf %x, %stopped : f32
    %y = arith.mulf %p, %scale : f32
    linalg.yield %y : f32
  } -> !t
  %o = fa.attention ins(%square, %square, %square : !t, !t, !t) outs(%e : !t)
  return %o : !t
}
