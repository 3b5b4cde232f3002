// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s -mlir-print-op-generic | fa-opt | FileCheck %s
// RUN: fa-opt %s -canonicalize | FileCheck %s

// Packed sequences, pages and sinks.

!packed = memref<?x8x64xf16>
!pool = memref<?x16x2x64xf16>

// CHECK-LABEL: func @packed(
// CHECK:         fa.attention ins(
// CHECK-SAME:        query_lengths(%{{.*}} : memref<?xi32>) query_starts(%[[S:.*]] : memref<?xi32>) key_starts(%[[S]] : memref<?xi32>)
// CHECK-SAME:        {key_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>, query_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>}
func.func @packed(%q: !packed, %starts: memref<?xi32>, %lengths: memref<?xi32>, %o: !packed, %lse: memref<8x?xf32>) {
  fa.attention ins(%q, %q, %q : !packed, !packed, !packed) outs(%o, %lse : !packed, memref<8x?xf32>)
      query_lengths(%lengths : memref<?xi32>) query_starts(%starts : memref<?xi32>) key_starts(%starts : memref<?xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}

// CHECK-LABEL: func @paged(
// CHECK:         key_lengths(%{{.*}} : memref<?xi32>) key_pages(%{{.*}} : memref<?x?xi32>) mask(
// CHECK:         } sink(%{{.*}}, %[[H:.*]], %{{.*}}) captures(%[[T:.*]] = %{{.*}} : memref<8xf32>) {
// CHECK-NEXT:      %[[X:.*]] = memref.load %[[T]][%[[H]]] : memref<8xf32>
// CHECK-NEXT:      fa.yield %[[X]] : f32
// CHECK:         {batch_invariant, key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, h, s, d>}
func.func @paged(%q: memref<?x1x8x64xf16>, %k: !pool, %v: memref<?x2x16x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                 %sinks: memref<8xf32>, %o: memref<?x1x8x64xf16>) {
  fa.attention ins(%q, %k, %v : memref<?x1x8x64xf16>, !pool, memref<?x2x16x64xf16>) outs(%o : memref<?x1x8x64xf16>)
      key_lengths(%lengths : memref<?xi32>) key_pages(%table : memref<?x?xi32>) mask causal
      sink(%b, %h, %i) captures(%t = %sinks : memref<8xf32>) {
        %x = memref.load %t[%h] : memref<8xf32>
        fa.yield %x : f32
      }
      {batch_invariant, key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, h, s, d>}
  return
}

// CHECK-LABEL: func @finalize(
// CHECK:         fa.finalize ins({{.*}}) outs({{.*}}) rows(%{{.*}}) sink(%{{.*}} : f32)
// CHECK:         fa.finalize ins({{.*}}) outs({{.*}}) sink(%{{.*}} : tensor<8xf32>)
func.func @finalize(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %o: memref<1x8x1x16xf32>, %rows: index, %x: f32) {
  fa.finalize ins(%a, %m, %m : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) outs(%o : memref<1x8x1x16xf32>) rows(%rows) sink(%x : f32)
  fa.finalize ins(%a, %m, %m : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) outs(%o : memref<1x8x1x16xf32>) sink(%m : tensor<8xf32>)
  return
}

// CHECK-LABEL: func @rows(
// CHECK:         fa.paged_rows %{{.*}}[%{{.*}}] pages(%{{.*}}[%{{.*}}]) count(%{{.*}}) {dims = #fa.dims<p, s, h, d>} : memref<?x16x2x64xf16>, memref<?x?xi32> -> memref<1x?x1x64xf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @rows(%pool: !pool, %table: memref<?x?xi32>, %b: index, %h: index, %n: index) -> memref<1x?x1x64xf16, strided<[?, ?, ?, 1], offset: ?>> {
  %r = fa.paged_rows %pool[%h] pages(%table[%b]) count(%n) {dims = #fa.dims<p, s, h, d>} : !pool, memref<?x?xi32> -> memref<1x?x1x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  return %r : memref<1x?x1x64xf16, strided<[?, ?, ?, 1], offset: ?>>
}
