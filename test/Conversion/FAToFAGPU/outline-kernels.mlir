// RUN: fa-opt %s -fa-outline-kernels=chip=sm_90 | FileCheck %s

!mem = memref<?x?xf32>

// CHECK-LABEL: func.func @f_kernel
// CHECK-SAME: (%[[M:.*]]: memref<?x?xf32>, %[[S:.*]]: f32, %[[COUNT:.*]]: i32)
// CHECK-SAME: attributes {fagpu.kernel = "sm_90"}
// CHECK: %[[COUNT_INDEX:.*]] = arith.index_cast %[[COUNT]] : i32 to index
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// The last index is the fastest, and runs from its end.
// CHECK: %[[J:.*]] = arith.remui %[[BLOCK]], %[[COUNT_INDEX]]
// CHECK: %[[I:.*]] = arith.divui %[[BLOCK]], %[[COUNT_INDEX]]
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT_INDEX]], %{{.*}}
// CHECK: %[[BACK:.*]] = arith.subi %[[LAST]], %[[J]]
// CHECK: %[[ROW:.*]] = arith.muli %[[BACK]], %{{.*}}
// CHECK: fagpu.role @compute groups(1) {
// CHECK: memref.store %[[S]], %[[M]][%[[I]], %[[ROW]]]

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[HOST_M:.*]]: memref<?x?xf32>, %[[HOST_S:.*]]: f32
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui
// CHECK: %[[GRID:.*]] = arith.muli %{{.*}}, %[[BLOCKS]]
// CHECK: fagpu.launch @f_kernel grid(%[[GRID]]) (%[[HOST_M]], %[[HOST_S]], %{{.*}}) : memref<?x?xf32>, f32, i32
// CHECK-NOT: scf.forall
func.func @f(%m: !mem, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %m, %c0 : !mem
  %columns = memref.dim %m, %c1 : !mem
  scf.forall (%i, %j) = (0, 0) to (%rows, %columns) step (1, 128) {
    memref.store %s, %m[%i, %j] : !mem
  }
  return
}

// A problem of one tile has no loop.
// CHECK-LABEL: func.func @single_kernel(
// CHECK: fagpu.role @compute groups(1) {
// CHECK: fa.key_ranges
// CHECK-LABEL: func.func @single(
// CHECK: fagpu.launch @single_kernel grid(
// CHECK-NOT: fa.key_ranges
func.func @single(%n: index) {
  %c0 = arith.constant 0 : index
  fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 {
  }
  return
}
