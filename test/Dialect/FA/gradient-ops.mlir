// Gradients of attention round-trip in their own form and in the generic one.
// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s

!q = tensor<2x?x8x64xbf16>
!k = tensor<2x?x2x64xbf16>
!v = tensor<2x?x2x32xbf16>
!o = tensor<2x?x8x32xbf16>
!row = tensor<2x8x?xf32>

// CHECK-LABEL: @plain
// CHECK: fa.attention_gradient ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x32xbf16>)
// CHECK-SAME: of(%{{.*}}, %{{.*}} : tensor<2x?x8x32xbf16>, tensor<2x8x?xf32>)
// CHECK-SAME: gradients(%{{.*}} : tensor<2x?x8x32xbf16>)
// CHECK-SAME: outs(query = %{{.*}} : tensor<2x?x8x64xbf16>, key = %{{.*}} : tensor<2x?x2x64xbf16>, value = %{{.*}} : tensor<2x?x2x32xf32>)
func.func @plain(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !row, %do: !o, %dq: !q, %dk: !k, %dv: tensor<2x?x2x32xf32>)
    -> (!q, !k, tensor<2x?x2x32xf32>) {
  %0:3 = fa.attention_gradient ins(%q, %k, %v : !q, !k, !v) of(%o, %lse : !o, !row) gradients(%do : !o)
      outs(query = %dq : !q, key = %dk : !k, value = %dv : tensor<2x?x2x32xf32>)
  return %0#0, %0#1, %0#2 : !q, !k, tensor<2x?x2x32xf32>
}

// A subset of gradients, delta in place of the output, everything optional.
// CHECK-LABEL: @everything
// CHECK: of(%{{.*}} : tensor<2x8x?xf32>) delta(%{{.*}} : tensor<2x8x?xf32>)
// CHECK-SAME: outs(capture[0] = %{{.*}} : tensor<8xf32>, scale = %{{.*}} : tensor<f32>)
// CHECK-SAME: scale(%{{.*}}) query_lengths(%{{.*}} : tensor<2xi32>) key_lengths(%{{.*}} : tensor<2xi32>)
// CHECK-SAME: score(%[[S:.*]], %[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]]) captures(%[[T:.*]] = %{{.*}} : tensor<8xf32>)
// CHECK: score_gradient(%[[DX:.*]], %{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}, %[[T:.*]])
// CHECK: fa.scatter_gradient %[[DX]] to %[[T]][%[[H]]] : f32, tensor<8xf32>
// CHECK: mask(
// CHECK: value_dims = #fa.dims<b, h, s, d>
func.func @everything(%q: !q, %k: !k, %v: tensor<2x2x?x32xbf16>, %delta: !row, %lse: !row, %do: !o, %slopes: tensor<8xf32>,
    %scale: f32, %lengths: tensor<2xi32>, %dt: tensor<8xf32>, %ds: tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
  %0:2 = fa.attention_gradient ins(%q, %k, %v : !q, !k, tensor<2x2x?x32xbf16>) of(%lse : !row) delta(%delta : !row)
      gradients(%do : !o) outs(capture[0] = %dt : tensor<8xf32>, scale = %ds : tensor<f32>)
      scale(%scale) query_lengths(%lengths : tensor<2xi32>) key_lengths(%lengths : tensor<2xi32>)
      score(%s, %b, %h, %i, %j) captures(%t = %slopes : tensor<8xf32>) {
        %slope = tensor.extract %t[%h] : tensor<8xf32>
        %x = arith.addf %s, %slope : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        fa.scatter_gradient %dx to %t[%h] : f32, tensor<8xf32>
        fa.yield %dx : f32
      } mask causal {value_dims = #fa.dims<b, h, s, d>}
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}

// A short spelling waits for the region of its gradient.
// CHECK-LABEL: @short_spelling
// CHECK: gradients(%{{.*}}, %{{.*}} : tensor<2x?x8x32xbf16>, tensor<2x8x?xf32>)
// CHECK: score(
// CHECK-NOT: score_gradient
func.func @short_spelling(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !row, %do: !o, %dlse: !row, %cap: f32, %dq: !q) -> !q {
  %0 = fa.attention_gradient ins(%q, %k, %v : !q, !k, !v) of(%o, %lse : !o, !row) gradients(%do, %dlse : !o, !row)
      outs(query = %dq : !q) score softcap(%cap)
  return %0 : !q
}

// A promise of the same bits in each run.
// CHECK-LABEL: @deterministic
// CHECK: fa.attention_gradient {{.*}} {config = #fa.config<query_block = 16, key_block = 32>, deterministic}
func.func @deterministic(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !row, %do: !o, %dq: !q) -> !q {
  %0 = fa.attention_gradient ins(%q, %k, %v : !q, !k, !v) of(%o, %lse : !o, !row) gradients(%do : !o)
      outs(query = %dq : !q) {config = #fa.config<query_block = 16, key_block = 32>, deterministic}
  return %0 : !q
}

// The gradient of what a sink captures, behind all others.
// CHECK-LABEL: @sink
// CHECK: outs(query = %{{.*}} : tensor<2x?x8x64xbf16>, sink_capture[1] = %{{.*}} : tensor<8xf32>)
// CHECK-SAME: mask(
// CHECK: sink(%{{.*}}, %[[H:.*]], %{{.*}}) captures(%{{.*}} = %{{.*}} : f32, %[[T:.*]] = %{{.*}} : tensor<8xf32>)
// CHECK: tensor.extract %[[T]][%[[H]]]
// CHECK: sink_gradient(%[[DX:.*]], %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}, %[[T:.*]])
// CHECK: fa.scatter_gradient %[[DX]] to %[[T]][%[[H]]] : f32, tensor<8xf32>
// CHECK-NEXT: fa.yield{{$}}
func.func @sink(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !row, %do: !o, %more: f32, %sinks: tensor<8xf32>, %dq: !q, %ds: tensor<8xf32>) -> (!q, tensor<8xf32>) {
  %0:2 = fa.attention_gradient ins(%q, %k, %v : !q, !k, !v) of(%o, %lse : !o, !row) gradients(%do : !o)
      outs(sink_capture[1] = %ds : tensor<8xf32>, query = %dq : !q) mask causal
      sink(%b, %h, %i) captures(%m = %more : f32, %t = %sinks : tensor<8xf32>) {
        %s = tensor.extract %t[%h] : tensor<8xf32>
        %x = arith.addf %s, %m : f32
        fa.yield %x : f32
      } sink_gradient(%dx, %b, %h, %i, %m, %t) {
        fa.scatter_gradient %dx to %t[%h] : f32, tensor<8xf32>
        fa.yield
      }
  return %0#0, %0#1 : !q, tensor<8xf32>
}

!qs = memref<1x1x?x64xf32>
!qm = memref<1x?x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!km = memref<1x128x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!rowm = memref<1x1x?xf32, strided<[?, ?, 1], offset: ?>>

// CHECK-LABEL: @steps
// CHECK: fa.prepare_gradient of(
// CHECK: fa.query_ranges (%[[I:.*]], %{{.*}}) = [partial %{{.*}} to %{{.*}}, full %{{.*}} to %{{.*}}] step 64
// CHECK: fa.gradient_keys ins(
// CHECK-SAME: rows(
// CHECK-SAME: outs(key = %{{.*}} : tensor<128x64xf32>, value = %{{.*}} : tensor<128x64xf32>, query = %{{.*}} : memref<1x1x?x64xf32>)
// CHECK-SAME: offsets(
// CHECK-SAME: extents(
// CHECK: fa.finalize_gradient ins(%{{.*}} : tensor<128x64xf32>) scale(
// CHECK: fa.gradient_queries ins(
// CHECK-SAME: outs(query = %{{.*}} : tensor<64x64xf32>, capture[0] = %{{.*}} : memref<8xf32>)
func.func @steps(%q: !qm, %k: !km, %o: !qm, %lse: !rowm, %delta: !rowm, %out: !km, %slopes: memref<8xf32>,
    %dt: memref<8xf32>, %sums: !qs, %dk0: tensor<128x64xf32>, %dv0: tensor<128x64xf32>, %dq0: tensor<64x64xf32>,
    %n: index, %mid: index, %scale: f32) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  fa.prepare_gradient of(%o, %q : !qm, !qm) lse(%lse : !rowm) outs(%delta, %lse : !rowm, !rowm) rows(%n)
  %g:2 = fa.query_ranges (%i, %count) = [partial %c0 to %mid, full %mid to %n] step 64
      iter_args(%dk = %dk0, %dv = %dv0) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
    %partial = fa.is_partial : i1
    %next:2 = fa.gradient_keys ins(%q, %k, %k, %q : !qm, !km, !km, !qm) rows(%lse, %delta : !rowm, !rowm)
        outs(key = %dk : tensor<128x64xf32>, value = %dv : tensor<128x64xf32>, query = %sums : !qs)
        offsets(%c0, %c0, %i, %c0) extents(%n, %n) {query_gradient_dims = #fa.dims<b, h, s, d>}
    fa.yield %next#0, %next#1 : tensor<128x64xf32>, tensor<128x64xf32>
  }
  fa.finalize_gradient ins(%g#0 : tensor<128x64xf32>) scale(%scale) outs(%out : !km) rows(%n)
  %dq = fa.gradient_queries ins(%q, %k, %k, %q : !qm, !km, !km, !qm) rows(%lse, %delta : !rowm, !rowm)
      outs(query = %dq0 : tensor<64x64xf32>, capture[0] = %dt : memref<8xf32>)
      score(%s, %b, %h, %i, %j) captures(%t = %slopes : memref<8xf32>) {
        %slope = memref.load %t[%h] : memref<8xf32>
        %x = arith.addf %s, %slope : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        fa.scatter_gradient %dx to %t[%h] : f32, memref<8xf32>
        fa.yield %dx : f32
      }
  return %dq : tensor<64x64xf32>
}

// CHECK-LABEL: @scatter
// CHECK: fa.scatter_add %{{.*}} : tensor<64x?xf32> to %{{.*}} : memref<8xf32> offsets({{.*}}) extents({{.*}}) pairs(%{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}) {
// CHECK: fa.yield %[[H]] : index
func.func @scatter(%x: tensor<64x?xf32>, %slopes: memref<8xf32>, %b: index, %h: index, %i: index, %j: index) {
  fa.scatter_add %x : tensor<64x?xf32> to %slopes : memref<8xf32> offsets(%b, %h, %i, %j) extents(%i, %j)
      pairs(%batch, %head, %query, %key) {
    fa.yield %head : index
  }
  return
}

// CHECK-LABEL: @scatter_at_scores
// CHECK: fa.scatter_add %{{.*}} : tensor<64x?xf32> to %{{.*}} : memref<8xf32> scores(%{{.*}} : tensor<64x?xf32>) offsets({{.*}}) extents({{.*}}) pairs(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: arith.fptosi %[[S]] : f32 to i32
func.func @scatter_at_scores(%x: tensor<64x?xf32>, %levels: memref<8xf32>, %b: index, %h: index, %i: index, %j: index) {
  fa.scatter_add %x : tensor<64x?xf32> to %levels : memref<8xf32> scores(%x : tensor<64x?xf32>)
      offsets(%b, %h, %i, %j) extents(%i, %j) pairs(%score, %batch, %head, %query, %key) {
    %level = arith.fptosi %score : f32 to i32
    %at = arith.index_cast %level : i32 to index
    fa.yield %at : index
  }
  return
}
