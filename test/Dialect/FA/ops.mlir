// RUN: fa-opt %s | FileCheck %s
// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s -mlir-print-op-generic | fa-opt | FileCheck %s

// Every operation and attribute in its text form, which is stable when it is
// printed and parsed again, also by way of the generic form.

!rows = tensor<2x?x8x64xbf16>
!keys = tensor<2x?x2x64xbf16>

// CHECK-LABEL: func.func @minimal
// CHECK:         fa.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>) outs(%{{.*}} : tensor<2x?x8x64xbf16>)
// CHECK-NEXT:    return
func.func @minimal(%q: !rows, %k: !keys, %v: !keys, %o: !rows) -> !rows {
  %r = fa.attention ins(%q, %k, %v : !rows, !keys, !keys) outs(%o : !rows)
  return %r : !rows
}

// CHECK-LABEL: func.func @all_clauses
// CHECK:         %{{.*}}:2 = fa.attention
// CHECK-SAME:      scale({{[^)]*}}) query_lengths(%{{[^ ]*}} : tensor<2xi32>) key_lengths(%{{[^ ]*}} : tensor<2xi32>)
// CHECK-SAME:      offsets({{[^)]*}}) extents({{[^)]*}})
// CHECK-SAME:      score(%[[s:.*]], %{{.*}}, %[[h:.*]], %{{.*}}, %{{.*}}) captures(%[[t:.*]] = %{{.*}} : tensor<8xf32>) {
// CHECK-NEXT:        %[[x:.*]] = tensor.extract %[[t]][%[[h]]] : tensor<8xf32>
// CHECK-NEXT:        %[[y:.*]] = arith.mulf %[[s]], %[[x]] : f32
// CHECK-NEXT:        fa.yield %[[y]] : f32
// CHECK-NEXT:      } mask(%{{.*}}, %{{.*}}, %[[i:.*]], %[[j:.*]]) {
// CHECK-NEXT:        %[[m:.*]] = arith.cmpi ule, %[[j]], %[[i]] : index
// CHECK-NEXT:        fa.yield %[[m]] : i1
// CHECK-NEXT:      } {config = #fa.config<query_block = 64, key_block = 128, key_splits = 2, deterministic = false, target = #fa.cpu<register_rows = 4>>, query_dims = #fa.dims<b, s, h, d>}
func.func @all_clauses(%q: !rows, %k: !keys, %v: !keys, %o: !rows, %l: tensor<2x8x?xf32>, %scale: f32,
                       %n: tensor<2xi32>, %c: index, %gains: tensor<8xf32>) -> (!rows, tensor<2x8x?xf32>) {
  %r:2 = fa.attention ins(%q, %k, %v : !rows, !keys, !keys) outs(%o, %l : !rows, tensor<2x8x?xf32>)
      scale(%scale) query_lengths(%n : tensor<2xi32>) key_lengths(%n : tensor<2xi32>)
      offsets(%c, %c, %c, %c) extents(%c, %c)
      score(%s, %b, %h, %i, %j) captures(%gain = %gains : tensor<8xf32>) {
        %x = tensor.extract %gain[%h] : tensor<8xf32>
        %y = arith.mulf %s, %x : f32
        fa.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %m = arith.cmpi ule, %j, %i : index
        fa.yield %m : i1
      }
      {config = #fa.config<query_block = 64, key_block = 128, key_splits = 2, deterministic = false,
                           target = #fa.cpu<register_rows = 4>>,
       query_dims = #fa.dims<b, s, h, d>}
  return %r#0, %r#1 : !rows, tensor<2x8x?xf32>
}

// CHECK-LABEL: func.func @on_memrefs
// CHECK:         fa.attention ins({{.*}}) outs(%{{.*}}, %{{.*}} : memref<2x4x8x16xf32>, memref<2x4x8xf32>) {{{.*}}output_dims = #fa.dims<b, h, s, d>
func.func @on_memrefs(%q: memref<2x8x4x16xf16>, %o: memref<2x4x8x16xf32>, %l: memref<2x4x8xf32>) {
  fa.attention ins(%q, %q, %q : memref<2x8x4x16xf16>, memref<2x8x4x16xf16>, memref<2x8x4x16xf16>)
      outs(%o, %l : memref<2x4x8x16xf32>, memref<2x4x8xf32>) {output_dims = #fa.dims<b, h, s, d>}
  return
}

// Outside of regions too.
// CHECK-LABEL: func.func @stop_gradient
// CHECK:         fa.stop_gradient %{{.*}} : bf16
// CHECK:         score(%[[s:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:        %[[x:.*]] = fa.stop_gradient %[[s]] : f32
// CHECK-NEXT:        fa.yield %[[x]] : f32
// CHECK:         sink(%{{.*}}, %{{.*}}, %{{.*}}) captures(%[[t:.*]] = %{{.*}} : f32) {
// CHECK-NEXT:        fa.stop_gradient %[[t]] : f32
func.func @stop_gradient(%q: !rows, %k: !keys, %o: !rows, %a: bf16, %number: f32) -> (!rows, bf16) {
  %fixed = fa.stop_gradient %a : bf16
  %r = fa.attention ins(%q, %k, %k : !rows, !keys, !keys) outs(%o : !rows)
      score(%s, %b, %h, %i, %j) {
        %x = fa.stop_gradient %s : f32
        fa.yield %x : f32
      }
      sink(%b, %h, %i) captures(%t = %number : f32) {
        %x = fa.stop_gradient %t : f32
        fa.yield %x : f32
      }
  return %r, %fixed : !rows, bf16
}

// CHECK-LABEL: func.func @online
// CHECK:         %{{.*}}:3 = fa.online_attention ins({{.*}} : memref<1x?x1x64xf32>, memref<1x128x1x64xf32>, memref<1x128x1x32xf32>)
// CHECK-SAME:      outs({{.*}} : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>) offsets({{[^)]*}}) extents({{[^)]*}})
// CHECK:         fa.finalize ins({{.*}} : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : memref<1x?x1x32xbf16>, memref<1x1x?xf32>) rows(%{{.*}})
func.func @online(%q: memref<1x?x1x64xf32>, %k: memref<1x128x1x64xf32>, %v: memref<1x128x1x32xf32>,
                  %a: tensor<64x32xf32>, %m: tensor<64xf32>, %s: tensor<64xf32>, %c: index,
                  %o: memref<1x?x1x32xbf16>, %l: memref<1x1x?xf32>) {
  %r:3 = fa.online_attention
      ins(%q, %k, %v : memref<1x?x1x64xf32>, memref<1x128x1x64xf32>, memref<1x128x1x32xf32>)
      outs(%a, %m, %s : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
      offsets(%c, %c, %c, %c) extents(%c, %c)
      mask causal
  fa.finalize ins(%r#0, %r#1, %r#2 : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
      outs(%o, %l : memref<1x?x1x32xbf16>, memref<1x1x?xf32>) rows(%c)
  return
}

// Attributes of other dialects are kept, whatever they are called behind the dot.
// CHECK-LABEL: func.func @marked
// CHECK:         fa.attention {{.*}} {a.config}
// CHECK:         fa.online_attention {{.*}} {a.config}
func.func @marked(%q: memref<1x64x1x64xf32>, %a: tensor<64x64xf32>, %m: tensor<64xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x64x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32>)
      outs(%q : memref<1x64x1x64xf32>) {a.config}
  %r:3 = fa.online_attention ins(%q, %q, %q : memref<1x64x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32>)
      outs(%a, %m, %m : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {a.config}
  return
}

// CHECK-LABEL: func.func @add_partial
// CHECK:         fa.add_partial ins(%{{.*}}, %{{.*}} : memref<1x?x1x16xf32>, memref<1x1x?xf32>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
func.func @add_partial(%o: memref<1x?x1x16xf32>, %l: memref<1x1x?xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>) -> tensor<8x16xf32> {
  %r:3 = fa.add_partial ins(%o, %l : memref<1x?x1x16xf32>, memref<1x1x?xf32>) outs(%a, %m, %m : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return %r#0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @combine
// CHECK:         fa.combine a(%{{.*}}, %{{.*}} : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%{{.*}}, %{{.*}} : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>) query_lengths(%{{.*}} : tensor<?xi32>) batch_offset(%{{.*}}) query_offset(%{{.*}})
// CHECK-SAME:      {dims = #fa.dims<b, s, h, d>} -> tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>
func.func @combine(%a: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xbf16>,
                   %n: tensor<?xi32>, %c: index) -> tensor<2x8x4x16xbf16> {
  %r:2 = fa.combine a(%a, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      b(%a, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %la : tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>)
      query_lengths(%n : tensor<?xi32>) batch_offset(%c) query_offset(%c)
      {dims = #fa.dims<b, s, h, d>} -> tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>
  return %r#0 : tensor<2x8x4x16xbf16>
}

// CHECK-LABEL: func.func @key_ranges
// CHECK:         %[[r:.*]] = fa.key_ranges (%{{.*}}, %[[n:.*]]) = [full %[[a:.*]] to %[[b:.*]], partial %[[b]] to %[[c:.*]]] step 128 iter_args(%[[i:.*]] = %{{.*}}) -> (index) {
// CHECK-NEXT:      %[[x:.*]] = arith.addi %[[i]], %[[n]] : index
// CHECK-NEXT:      fa.yield %[[x]] : index
// CHECK-NEXT:    }
// CHECK-NEXT:    fa.key_ranges (%{{.*}}, %{{.*}}) = [] step 1 {
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[r]] : index
func.func @key_ranges(%a: index, %b: index, %c: index) -> index {
  %r = fa.key_ranges (%key, %n) = [full %a to %b, partial %b to %c] step 128
      iter_args(%i = %a) -> (index) {
    %x = arith.addi %i, %n : index
    fa.yield %x : index
  }
  fa.key_ranges (%key, %n) = [] step 1 {
  }
  return %r : index
}

// CHECK-LABEL: func.func @summarize_mask
// CHECK:         %[[some:.*]], %[[every:.*]] = fa.summarize_mask 128 by 64 offsets(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) extents(%{{.*}}, %{{.*}}) captures(%{{.*}} : memref<?xi1>) {
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[j:.*]]: index, %[[table:.*]]: memref<?xi1>):
// CHECK-NEXT:      %{{.*}} = fa.key_length : index
// CHECK-NEXT:      %[[x:.*]] = memref.load %[[table]][%[[j]]] : memref<?xi1>
// CHECK-NEXT:      fa.yield %[[x]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    fa.summarize_mask 16 by 16 offsets({{.*}}) extents({{.*}}) {
// CHECK:         return %[[some]], %[[every]] : i1, i1
func.func @summarize_mask(%b: index, %i: index, %n: index, %valid: memref<?xi1>) -> (i1, i1) {
  %some, %every = fa.summarize_mask 128 by 64 offsets(%b, %b, %i, %i) extents(%n, %n) captures(%valid : memref<?xi1>) {
  ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi1>):
    %keys = fa.key_length : index
    %x = memref.load %table[%key] : memref<?xi1>
    fa.yield %x : i1
  }
  %s, %e = fa.summarize_mask 16 by 16 offsets(%b, %b, %i, %i) extents(%n, %n) {
  ^bb0(%batch: index, %head: index, %query: index, %key: index):
    %x = arith.constant true
    fa.yield %x : i1
  }
  return %some, %every : i1, i1
}

// CHECK-LABEL: func.func @apply
// CHECK-SAME:      %[[x:.*]]: tensor<16x?xf32>, %[[w:.*]]: tensor<16x?xi32>, %[[b:[^:]*]]: index, %[[i:[^:]*]]: index, %[[n:[^:]*]]: index, %[[t:.*]]: memref<?xf32>
// CHECK:         %[[y:.*]]:2 = fa.apply ins(%[[x]], %[[w]] : tensor<16x?xf32>, tensor<16x?xi32>) offsets(%[[b]], %[[b]], %[[i]], %[[i]]) extents(%[[n]], %[[n]]) rows(keys) pairs(%[[e:.*]], %[[u:.*]], %{{.*}}, %{{.*}}, %[[q:.*]], %{{.*}}) captures(%[[c:.*]] = %[[t]] : memref<?xf32>) {
// CHECK-NEXT:      %[[l:.*]] = memref.load %[[c]][%[[q]]] : memref<?xf32>
// CHECK-NEXT:      %[[z:.*]] = arith.addf %[[e]], %[[l]] : f32
// CHECK-NEXT:      fa.yield %[[u]], %[[z]] : i32, f32
// CHECK-NEXT:    } {fa.mark} -> (tensor<16x?xi32>, tensor<16x?xf32>)
// CHECK-NEXT:    %[[v:.*]] = fa.apply sizes(%[[n]]) offsets(%[[b]], %[[b]], %[[i]], %[[i]]) extents(%[[n]], %[[n]]) pairs(%{{.*}}, %{{.*}}, %{{.*}}, %[[k:.*]]) {
// CHECK-NEXT:      %[[m:.*]] = fa.key_length : index
// CHECK-NEXT:      %[[r:.*]] = arith.cmpi slt, %[[k]], %[[m]] : index
// CHECK-NEXT:      fa.yield %[[r]] : i1
// CHECK-NEXT:    } -> tensor<16x?xi1>
// CHECK-NEXT:    return %[[y]]#0, %[[v]] : tensor<16x?xi32>, tensor<16x?xi1>
func.func @apply(%x: tensor<16x?xf32>, %w: tensor<16x?xi32>, %b: index, %i: index, %n: index,
                 %t: memref<?xf32>) -> (tensor<16x?xi32>, tensor<16x?xi1>) {
  %y:2 = fa.apply ins(%x, %w : tensor<16x?xf32>, tensor<16x?xi32>) offsets(%b, %b, %i, %i) extents(%n, %n)
      rows(keys) pairs(%e, %u, %b1, %h1, %q, %k) captures(%c = %t : memref<?xf32>) {
    %l = memref.load %c[%q] : memref<?xf32>
    %z = arith.addf %e, %l : f32
    fa.yield %u, %z : i32, f32
  } {fa.mark} -> (tensor<16x?xi32>, tensor<16x?xf32>)
  %v = fa.apply sizes(%n) offsets(%b, %b, %i, %i) extents(%n, %n) pairs(%b1, %h1, %q, %k) {
    %m = fa.key_length : index
    %r = arith.cmpi slt, %k, %m : index
    fa.yield %r : i1
  } -> tensor<16x?xi1>
  return %y#0, %v : tensor<16x?xi32>, tensor<16x?xi1>
}
