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

// An index of the score is one for each pair, also where positions are not read.
// CHECK-LABEL: @levels
// CHECK-SAME: (%[[X:.*]]: memref<64x8xf32>, %[[S:.*]]: memref<64x8xf32>, %[[LEVELS:.*]]: memref<16xf32>
// CHECK: scf.for %[[R:.*]] = %{{.*}} to %c64
// CHECK:   scf.for %[[C:.*]] = %{{.*}} to %c8
// CHECK:     %[[VALUE:.*]] = memref.load %[[X]][%[[R]], %[[C]]]
// CHECK:     %[[SCORE:.*]] = memref.load %[[S]][%[[R]], %[[C]]]
// CHECK:     %[[LEVEL:.*]] = arith.fptosi %[[SCORE]]
// CHECK:     %[[AT:.*]] = arith.index_cast %[[LEVEL]]
// CHECK:     memref.load %[[LEVELS]][%[[AT]]]
func.func @levels(%x: memref<64x8xf32>, %s: memref<64x8xf32>, %levels: memref<16xf32>, %b: index) {
  fa.scatter_add %x : memref<64x8xf32> to %levels : memref<16xf32> scores(%s : memref<64x8xf32>)
      offsets(%b, %b, %b, %b) extents(%b, %b) pairs(%score, %batch, %head, %query, %key) {
    %level = arith.fptosi %score : f32 to i32
    %at = arith.index_cast %level : i32 to index
    fa.yield %at : index
  }
  return
}

// The sums of rows are added to a part of the memory, in bounds.
// CHECK-LABEL: @rows
// CHECK-SAME: (%[[X:.*]]: memref<64x?xf32>, %[[NUMBERS:.*]]: memref<256xf32>, %{{.*}}: index, %[[I:.*]]: index)
// CHECK: %[[LEFT:.*]] = arith.subi %c256, %[[I]]
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK: %[[COUNT:.*]] = arith.minsi %[[SOME]], %c64
// CHECK: scf.if
// CHECK:   %[[SUMS:.*]] = memref.alloc() : memref<64xf32>
// CHECK:   linalg.fill {{.*}} outs(%[[SUMS]]
// CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]] : {{.*}}) outs(%[[SUMS]] : memref<64xf32>)
// CHECK:   %[[FROM:.*]] = memref.subview %[[SUMS]][0] [%[[COUNT]]] [1]
// CHECK:   %[[TO:.*]] = memref.subview %[[NUMBERS]][%[[I]]] [%[[COUNT]]] [1]
// CHECK:   linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[FROM]] : {{.*}}) outs(%[[TO]] : {{.*}})
// CHECK:     arith.addf
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
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]] : {{.*}}) outs(%[[SUMS:.*]] : memref<8xf32>)
// CHECK: %[[ALL:.*]] = scf.for %[[R:[a-z0-9]+]] = {{.*}} -> (f32)
// CHECK:   memref.load %[[SUMS]][%[[R]]]
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

// A block is added as it is, here to memory with keys first, and only where the
// head is in bounds.
// CHECK-LABEL: @block
// CHECK-SAME: (%[[X:.*]]: memref<8x4xf32>, %[[BIAS:.*]]: memref<?x256x?xf32>
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[H:.*]], %{{.*}}
// CHECK: scf.if %[[INSIDE]]
// CHECK:   scf.if
// CHECK:     %[[PART:.*]] = memref.subview %[[BIAS]][%[[H]], %[[J:.*]], %[[I:.*]]] [1, %{{.*}}, %{{.*}}] [1, 1, 1] : {{.*}} to memref<?x?xf32,
// CHECK:     %[[TURNED:.*]] = memref.transpose %[[PART]] (d0, d1) -> (d1, d0)
// CHECK:     linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}}) outs(%[[TURNED]] :
func.func @block(%x: memref<8x4xf32>, %bias: memref<?x256x?xf32>, %b: index, %h: index, %i: index, %j: index) {
  fa.scatter_add %x : memref<8x4xf32> to %bias : memref<?x256x?xf32> offsets(%b, %h, %i, %j) extents(%i, %j)
      pairs(%batch, %head, %query, %key) {
    fa.yield %head, %key, %query : index, index, index
  }
  return
}

// Sums of columns would cross vectors: loops.
// CHECK-LABEL: @columns
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK:   scf.for
func.func @columns(%x: memref<8x4xf32>, %numbers: memref<256xf32>, %b: index, %j: index) {
  fa.scatter_add %x : memref<8x4xf32> to %numbers : memref<256xf32> offsets(%b, %b, %b, %j) extents(%j, %j)
      pairs(%batch, %head, %query, %key) {
    fa.yield %key : index
  }
  return
}
