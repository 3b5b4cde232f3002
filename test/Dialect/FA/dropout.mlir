// RUN: fa-opt %s --split-input-file | FileCheck %s
// RUN: fa-opt %s --split-input-file | fa-opt --split-input-file | FileCheck %s
// RUN: fa-opt %s --split-input-file --canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: fa-opt %s --split-input-file --fa-expand-dropout | FileCheck %s --check-prefix=EXPAND
// RUN: fa-opt %s --split-input-file --fa-expand-dropout=keep-pairs | FileCheck %s --check-prefix=KEEP

!t = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

// The clause becomes the second result of the score.
// CHECK-LABEL: @scalars
// CHECK: fa.attention {{.*}} score(%[[S:.*]], %[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]]) captures(%[[P:.*]] = %{{.*}} : f32, %[[SEED:.*]] = %{{.*}} : i64, %[[OFFSET:.*]] = %{{.*}} : i64) {
// CHECK: %[[F:.*]] = fa.dropout %[[P]], %[[SEED]], %[[OFFSET]] at(%[[B]], %[[H]], %[[I]], %[[J]])
// CHECK: fa.yield %[[S]], %[[F]] : f32, f32
// CHECK: mask
// FOLD-LABEL: @scalars
// FOLD: fa.dropout

// Ten rounds of two products:
// EXPAND-LABEL: @scalars
// EXPAND-COUNT-20: arith.mului_extended
// EXPAND-NOT: arith.mului_extended
// EXPAND-NOT: fa.dropout
// EXPAND: %[[KEPT:.*]] = arith.cmpi uge, %{{.*}}, %{{.*}} : i32
// EXPAND: arith.select %[[KEPT]]
// KEEP-LABEL: @scalars
// KEEP: fa.dropout
// KEEP-NOT: mului_extended
func.func @scalars(%q: !t, %p: f32, %seed: i64, %offset: i64) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask causal dropout(%p, %seed, %offset)
  return %r : !t
}

// -----

!t = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

// CHECK-LABEL: @memory
// CHECK: fa.attention_gradient {{.*}} score({{.*}}) captures(%{{.*}} = %{{.*}} : f32, %[[P:.*]] = %{{.*}} : f32, %[[SEED:.*]] = %{{.*}} : tensor<i64>, %[[OFFSET:.*]] = %{{.*}} : tensor<i64>) {
// CHECK: tensor.extract %[[SEED]][]
// CHECK: tensor.extract %[[OFFSET]][]
// CHECK: fa.dropout %[[P]]
// CHECK: score_gradient(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// EXPAND-LABEL: @memory
// EXPAND-NOT: fa.dropout
func.func @memory(%q: !t, %lse: !row, %cap: f32, %p: f32, %seed: tensor<i64>, %offset: tensor<i64>) -> !t {
  %r = fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %lse : !t, !row) gradients(%q : !t) outs(query = %q : !t)
      score softcap(%cap) score_gradient(%dx, %s, %b, %h, %i, %j, %c) {
        fa.yield %dx : f32
      } dropout(%p, %seed, %offset : f32, tensor<i64>, tensor<i64>)
  return %r : !t
}

// -----

!t = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

// Without dropout nothing is left of it.
// FOLD-LABEL: @never
// FOLD: fa.attention
// FOLD-NOT: score(
// FOLD: fa.attention_gradient
// FOLD-NOT: fa.dropout
// EXPAND-LABEL: @never
// EXPAND: fa.attention
// EXPAND-NOT: score(
// EXPAND: fa.attention_gradient
// EXPAND-NOT: mului_extended
func.func @never(%q: !t, %lse: !row, %seed: i64, %offset: i64) -> (!t, !t) {
  %p = arith.constant 0.0 : f32
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) dropout(%p, %seed, %offset)
  %g = fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %lse : !t, !row) gradients(%q : !t) outs(query = %q : !t)
      dropout(%p, %seed, %offset)
  return %r, %g : !t, !t
}

// -----

!t = tensor<1x8x2x16xf32>

// A block of pairs draws at its own indices alone.
// FOLD-LABEL: @moved
// EXPAND-LABEL: @moved
// KEEP-LABEL: @moved
// KEEP-COUNT-20: arith.mului_extended
// KEEP-NOT: fa.dropout
func.func @moved(%q: !t, %p: f32, %seed: i64) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score(%s, %b, %h, %i, %j) captures(%ps = %p : f32, %n = %seed : i64) {
    %i2 = arith.addi %i, %j : index
    %f = fa.dropout %ps, %n, %n at(%b, %h, %i2, %j)
    fa.yield %s, %f : f32, f32
  }
  return %r : !t
}
