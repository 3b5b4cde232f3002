// RUN: fa-opt %s -fa-narrow-indices | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[N:.*]]: i32, %[[M:.*]]: memref<?xi32>, %[[W:.*]]: i64)
func.func @kernel(%n: i32, %m: memref<?xi32>, %w: i64) attributes {fagpu.kernel = "sm_80"} {
  // CHECK: %[[C:.*]] = arith.constant 64 : i32
  %c64 = arith.constant 64 : index
  // CHECK: %[[BLOCK:.*]] = gpu.block_id x
  // CHECK: %[[B:.*]] = arith.index_cast %[[BLOCK]] : index to i32
  %b = gpu.block_id x
  fagpu.role @compute groups(1) {
    %size = arith.index_cast %n : i32 to index
    // CHECK: %[[ROW:.*]] = arith.muli %[[B]], %[[C]] : i32
    %row = arith.muli %b, %c64 : index
    // CHECK: arith.minsi %[[ROW]], %[[N]] : i32
    %last = arith.minsi %row, %size : index
    // CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : i32 to index
    // CHECK: memref.load %[[M]][%[[AT]]]
    %x = memref.load %m[%last] : memref<?xi32>
    // CHECK: arith.trunci %[[W]] : i64 to i32
    %wide = arith.index_cast %w : i64 to index
    // CHECK: arith.extsi %{{.*}} : i32 to i64
    %back = arith.index_cast %row : index to i64
    // CHECK: scf.if %{{.*}} -> (i32) {
    %c = arith.cmpi slt, %row, %wide : index
    %y = scf.if %c -> (index) {
      scf.yield %row : index
    } else {
      scf.yield %size : index
    }
    %z = arith.addi %y, %row : index
  }
  return
}

// Only kernels change.
// CHECK-LABEL: func.func @host
// CHECK: arith.addi %{{.*}}, %{{.*}} : index
func.func @host(%a: index) -> index {
  %b = arith.addi %a, %a : index
  return %b : index
}
