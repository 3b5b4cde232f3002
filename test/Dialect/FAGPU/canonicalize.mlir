// RUN: fa-opt %s --canonicalize | FileCheck %s

// Sizes of a workspace are those that it is asked for with.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: return %[[N]], %[[M]], %c4 : index, index, index
func.func @sizes(%n: index, %m: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %table = fagpu.workspace(%n, %m) : memref<?x4x?xi32>
  %0 = memref.dim %table, %c0 : memref<?x4x?xi32>
  %1 = memref.dim %table, %c2 : memref<?x4x?xi32>
  %2 = memref.dim %table, %c1 : memref<?x4x?xi32>
  return %0, %1, %2 : index, index, index
}
