// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// All threads of a group share what a loop stores; each warp adds up all that a loop sums.

// CHECK-LABEL: func.func @loops
func.func @loops(%m: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @all groups(1) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %end = arith.index_cast %n : i32 to index
    %init = arith.constant 7 : i32
    // CHECK-DAG: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK-DAG: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
    // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[LANE]] : i32 to index
    // CHECK: %[[FIRST:.*]] = arith.muli %[[NUMBER]], %c2
    // CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %c64 iter_args(%[[BEFORE:.*]] = %c0_i32) -> (i32) {
    // CHECK:   %[[ELEMENT:.*]] = llvm.load
    // CHECK:   %[[NEXT:.*]] = arith.addi %[[BEFORE]], %[[ELEMENT]] : i32
    // CHECK:   scf.yield %[[NEXT]] : i32
    // CHECK: %[[ALL:.*]] = nvvm.redux.sync add %[[SUM]], %{{.*}} : i32 -> i32
    // CHECK: %[[RESULT:.*]] = arith.addi %[[ALL]], %c7_i32
    %sum = scf.parallel (%i) = (%c0) to (%end) step (%c2) init (%init) -> i32 {
      %x = memref.load %m[%i] : memref<?xi32>
      scf.reduce(%x : i32) {
      ^bb0(%a: i32, %b: i32):
        %both = arith.addi %a, %b : i32
        scf.reduce.return %both : i32
      }
    }
    // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c256 {
    // CHECK-NOT: redux
    // CHECK:   llvm.store %[[RESULT]]
    scf.parallel (%i) = (%c0) to (%end) step (%c2) {
      memref.store %sum, %m[%i] : memref<?xi32>
      scf.reduce
    }
  }
  return
}
