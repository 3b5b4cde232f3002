// RUN: fa-opt %s | FileCheck %s

// What the short spellings build. A region is all that the operation holds, so
// these are what every pass sees.

!t = tensor<2x8x4x16xf32>

// CHECK-LABEL: func.func @causal
// CHECK:         mask(%{{.*}}, %{{.*}}, %[[i:.*]], %[[j:.*]]) {
// CHECK-NEXT:      %[[keys:.*]] = fa.key_length : index
// CHECK-NEXT:      %[[queries:.*]] = fa.query_length : index
// CHECK-NEXT:      %[[shift:.*]] = arith.subi %[[keys]], %[[queries]] : index
// CHECK-NEXT:      %[[last:.*]] = arith.addi %[[i]], %[[shift]] : index
// CHECK-NEXT:      %[[visible:.*]] = arith.cmpi sle, %[[j]], %[[last]] : index
// CHECK-NEXT:      fa.yield %[[visible]] : i1
func.func @causal(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask causal
  return %r : !t
}

// CHECK-LABEL: func.func @causal_top_left
// CHECK:         mask(%{{.*}}, %{{.*}}, %[[i:.*]], %[[j:.*]]) {
// CHECK-NEXT:      %[[visible:.*]] = arith.cmpi sle, %[[j]], %[[i]] : index
// CHECK-NEXT:      fa.yield %[[visible]] : i1
func.func @causal_top_left(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask causal_top_left
  return %r : !t
}

// CHECK-LABEL: func.func @joined_masks
// CHECK-SAME:    %{{.*}}: tensor<2x8x4x16xf32>, %[[w:.*]]: index, %[[p:.*]]: tensor<2xi32>
// CHECK:         mask({{.*}}) captures(%[[left:.*]] = %[[w]] : index, %[[right:.*]] = %[[w]] : index, %{{.*}} = %[[p]] : tensor<2xi32>) {
// CHECK:           arith.cmpi slt, %[[left]]
// CHECK:           arith.cmpi slt, %[[right]]
// CHECK:           %[[window:.*]] = arith.andi
// CHECK:           tensor.extract
// CHECK:           %[[prefix:.*]] = arith.ori
// CHECK-NEXT:      %[[both:.*]] = arith.andi %[[window]], %[[prefix]] : i1
// CHECK-NEXT:      fa.yield %[[both]] : i1
func.func @joined_masks(%q: !t, %w: index, %p: tensor<2xi32>) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask window(%w, %w) prefix(%p : tensor<2xi32>)
  return %r : !t
}

// CHECK-LABEL: func.func @documents
// CHECK:         mask(%[[b:.*]], %{{.*}}, %[[i:.*]], %[[j:.*]]) captures(%[[x:.*]] = %{{.*}}, %[[y:.*]] = %{{.*}}) {
// CHECK-NEXT:      %[[at_i:.*]] = tensor.extract %[[x]][%[[b]], %[[i]]]
// CHECK-NEXT:      %[[at_j:.*]] = tensor.extract %[[y]][%[[b]], %[[j]]]
// CHECK-NEXT:      arith.cmpi eq, %[[at_i]], %[[at_j]] : i32
func.func @documents(%q: !t, %x: tensor<2x8xi32>, %y: tensor<2x8xi32>) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask documents(%x, %y : tensor<2x8xi32>, tensor<2x8xi32>)
  return %r : !t
}

// The cap acts first and the penalty of ALiBi after it.
// CHECK-LABEL: func.func @joined_scores
// CHECK:         score(%[[s:.*]], %{{.*}}, %[[h:.*]], %{{.*}}, %{{.*}}) captures(%[[cap:.*]] = %{{.*}} : f32, %[[slopes:.*]] = %{{.*}} : tensor<4xf32>) {
// CHECK-NEXT:      %[[ratio:.*]] = arith.divf %[[s]], %[[cap]] fastmath<arcp> : f32
// CHECK-NEXT:      %[[tanh:.*]] = math.tanh %[[ratio]] fastmath<arcp> : f32
// CHECK-NEXT:      %[[capped:.*]] = arith.mulf %[[cap]], %[[tanh]] : f32
// CHECK-NEXT:      %[[slope:.*]] = tensor.extract %[[slopes]][%[[h]]] : tensor<4xf32>
// CHECK:           %[[result:.*]] = arith.subf %[[capped]], %{{.*}} : f32
// CHECK-NEXT:      fa.yield %[[result]] : f32
func.func @joined_scores(%q: !t, %cap: f32, %slopes: tensor<4xf32>) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score softcap(%cap) alibi(%slopes : tensor<4xf32>)
  return %r : !t
}

// What may be approximated, and taken in another order, is said by flags; the
// cap's sign makes no difference.
// CHECK-LABEL: func.func @approx_softcap
// CHECK:         score(%[[s:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[cap:.*]] = %{{.*}} : f32) {
// CHECK-NEXT:      %[[bound:.*]] = math.absf %[[cap]] : f32
// CHECK-NEXT:      %[[ratio:.*]] = arith.divf %[[s]], %[[bound]] fastmath<reassoc,arcp,contract,afn> : f32
// CHECK-NEXT:      %[[tanh:.*]] = math.tanh %[[ratio]] fastmath<reassoc,arcp,contract,afn> : f32
// CHECK-NEXT:      %[[capped:.*]] = arith.mulf %[[tanh]], %[[bound]] fastmath<reassoc,arcp,contract,afn> : f32
// CHECK-NEXT:      fa.yield %[[capped]] : f32
func.func @approx_softcap(%q: !t, %cap: f32) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score approx_softcap(%cap)
  return %r : !t
}

// A static size of 1 is read at 0; other elements are widened.
// CHECK-LABEL: func.func @bias
// CHECK:         score(%[[s:.*]], %{{.*}}, %[[h:.*]], %[[i:.*]], %[[j:.*]]) captures(%[[table:.*]] = %{{.*}} : memref<1x4x?x8xf16>) {
// CHECK-NEXT:      %[[zero:.*]] = arith.constant 0 : index
// CHECK-NEXT:      %[[entry:.*]] = memref.load %[[table]][%[[zero]], %[[h]], %[[i]], %[[j]]]
// CHECK-NEXT:      %[[wide:.*]] = arith.extf %[[entry]] : f16 to f32
// CHECK-NEXT:      arith.addf %[[s]], %[[wide]] : f32
func.func @bias(%q: !t, %table: memref<1x4x?x8xf16>) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score bias(%table : memref<1x4x?x8xf16>)
  return %r : !t
}
