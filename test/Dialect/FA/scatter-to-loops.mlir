// RUN: fa-opt %s --fa-scatter-to-loops --canonicalize | FileCheck %s

// CHECK-LABEL: @relative
// CHECK-SAME: (%[[X:.*]]: memref<64x?xf32>, %[[TABLE:.*]]: memref<127xf32>, %{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK: %[[COLUMNS:.*]] = memref.dim %[[X]], %{{.*}}
// CHECK: scf.for %[[R:.*]] = %{{.*}} to %c64
// CHECK:   scf.for %[[C:.*]] = %{{.*}} to %[[COLUMNS]]
// CHECK:     %[[VALUE:.*]] = memref.load %[[X]][%[[R]], %[[C]]]
// CHECK:     %[[QUERY:.*]] = arith.addi %[[I]], %[[R]]
// CHECK:     %[[KEY:.*]] = arith.addi %[[J]], %[[C]]
// CHECK:     %[[AT:.*]] = arith.subi %[[KEY]], %[[QUERY]]
// CHECK:     %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %c127
// CHECK:     scf.if %[[INSIDE]]
// CHECK:       %[[OLD:.*]] = memref.load %[[TABLE]][%[[AT]]]
// CHECK:       %[[SUM:.*]] = arith.addf %[[OLD]], %[[VALUE]]
// CHECK:       memref.store %[[SUM]], %[[TABLE]][%[[AT]]]
func.func @relative(%x: memref<64x?xf32>, %table: memref<127xf32>, %b: index, %h: index, %i: index, %j: index) {
  fa.scatter_add %x : memref<64x?xf32> to %table : memref<127xf32> offsets(%b, %h, %i, %j) extents(%i, %j)
      pairs(%batch, %head, %query, %key) {
    %at = arith.subi %key, %query : index
    fa.yield %at : index
  }
  return
}

// What the pairs of a row share is summed along the row.
// CHECK-LABEL: @rows
// CHECK-SAME: (%[[X:.*]]: memref<64x?xf32>, %[[NUMBERS:.*]]: memref<256xf32>, %{{.*}}: index, %[[I:.*]]: index)
// CHECK: scf.for %[[R:.*]] =
// CHECK:   %[[SUM:.*]] = scf.for %[[C:.*]] = {{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (f32) {
// CHECK:     %[[VALUE:.*]] = memref.load %[[X]][%[[R]], %[[C]]]
// CHECK:     arith.addf %[[S]], %[[VALUE]]
// CHECK:   %[[QUERY:.*]] = arith.addi %[[I]], %[[R]]
// CHECK:   scf.if
// CHECK:     memref.load %[[NUMBERS]][%[[QUERY]]]
func.func @rows(%x: memref<64x?xf32>, %numbers: memref<256xf32>, %b: index, %i: index) {
  fa.scatter_add %x : memref<64x?xf32> to %numbers : memref<256xf32> offsets(%b, %b, %i, %b) extents(%i, %i)
      pairs(%batch, %head, %query, %key) {
    fa.yield %query : index
  }
  return
}

// Rows that are keys, and one number for all pairs.
// CHECK-LABEL: @total
// CHECK-SAME: (%[[X:.*]]: memref<8x4xf32>, %[[TOTAL:.*]]: memref<f32>
// CHECK: %[[ALL:.*]] = scf.for {{.*}} -> (f32)
// CHECK:   scf.for {{.*}} -> (f32)
// CHECK-NOT: scf.if
// CHECK: %[[OLD:.*]] = memref.load %[[TOTAL]][]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[ALL]]
// CHECK: memref.store %[[SUM]], %[[TOTAL]][]
func.func @total(%x: memref<8x4xf32>, %total: memref<f32>, %b: index) {
  fa.scatter_add %x : memref<8x4xf32> to %total : memref<f32> offsets(%b, %b, %b, %b) extents(%b, %b) rows(keys)
      pairs(%batch, %head, %query, %key) {
    fa.yield
  }
  return
}
