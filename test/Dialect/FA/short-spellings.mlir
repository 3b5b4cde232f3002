// RUN: fa-opt %s | FileCheck %s
// RUN: fa-opt %s | fa-opt | FileCheck %s

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

// A region and short spellings apply in the order written, the region first, in
// between or last; they become one region, which is read again as it is printed.
// CHECK-LABEL: func.func @region_first
// CHECK:         score(%[[s:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[x:.*]] = %{{.*}} : f32, %[[cap:.*]] = %{{.*}} : f32) {
// CHECK-NEXT:      %[[sum:.*]] = arith.addf %[[s]], %[[x]] : f32
// CHECK-NEXT:      %[[ratio:.*]] = arith.divf %[[sum]], %[[cap]]
// CHECK-NEXT:      %[[tanh:.*]] = math.tanh %[[ratio]]
// CHECK-NEXT:      %[[capped:.*]] = arith.mulf %[[cap]], %[[tanh]]
// CHECK-NEXT:      fa.yield %[[capped]] : f32
// CHECK-NEXT:    } mask(
func.func @region_first(%q: !t, %shift: f32, %cap: f32) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score(%s, %b, %h, %i, %j) captures(%x = %shift : f32) {
        %y = arith.addf %s, %x : f32
        fa.yield %y : f32
      } softcap(%cap : f32)
      mask causal
  return %r : !t
}

// CHECK-LABEL: func.func @region_last
// CHECK:         score(%[[s:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[cap:.*]] = %{{.*}} : f32, %[[x:.*]] = %{{.*}} : f32) {
// CHECK:           %[[capped:.*]] = arith.mulf %[[cap]]
// CHECK-NEXT:      %[[sum:.*]] = arith.addf %[[capped]], %[[x]] : f32
// CHECK-NEXT:      fa.yield %[[sum]] : f32
func.func @region_last(%q: !t, %shift: f32, %cap: f32) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score softcap(%cap) (%s, %b, %h, %i, %j) captures(%x = %shift : f32) {
        %y = arith.addf %s, %x : f32
        fa.yield %y : f32
      }
  return %r : !t
}

// CHECK-LABEL: func.func @region_between
// CHECK:         mask(%[[b:.*]], %{{.*}}, %[[i:.*]], %[[j:.*]]) captures(%[[n:.*]] = %{{.*}} : index, %[[ids:.*]] = %{{.*}} : tensor<2x8xi32>) {
// CHECK:           %[[causal:.*]] = arith.cmpi sle, %[[j]]
// CHECK-NEXT:      %[[below:.*]] = arith.cmpi slt, %[[j]], %[[n]] : index
// CHECK-NEXT:      %[[both:.*]] = arith.andi %[[causal]], %[[below]] : i1
// CHECK-NEXT:      tensor.extract %[[ids]][%[[b]], %[[i]]]
// CHECK-NEXT:      tensor.extract %[[ids]][%[[b]], %[[j]]]
// CHECK-NEXT:      %[[same:.*]] = arith.cmpi eq
// CHECK-NEXT:      %[[all:.*]] = arith.andi %[[both]], %[[same]] : i1
// CHECK-NEXT:      fa.yield %[[all]] : i1
func.func @region_between(%q: !t, %last: index, %ids: tensor<2x8xi32>) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask causal (%b, %h, %i: index, %j) captures(%n = %last : index) {
        %v = arith.cmpi slt, %j, %n : index
        fa.yield %v : i1
      } documents(%ids : tensor<2x8xi32>)
  return %r : !t
}

// Two regions; the second one yields what it is given.
// CHECK-LABEL: func.func @two_regions
// CHECK:         score(%[[s:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:      %[[twice:.*]] = arith.addf %[[s]], %[[s]] : f32
// CHECK-NEXT:      fa.yield %[[twice]] : f32
func.func @two_regions(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score(%s, %b, %h, %i, %j) {
        %y = arith.addf %s, %s : f32
        fa.yield %y : f32
      } (%s, %b, %h, %i, %j) {
        fa.yield %s : f32
      }
  return %r : !t
}

// Types that can only be one may be written.
// CHECK-LABEL: func.func @written_types
// CHECK:         scale(%{{.*}}) mask({{.*}}) captures(%{{.*}} = %{{.*}} : index, %{{.*}} = %{{.*}} : index)
func.func @written_types(%q: !t, %x: f32, %w: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) scale(%x : f32) mask window(%w, %w : index, index)
  return %r : !t
}
