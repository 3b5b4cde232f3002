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
    // CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %[[FIRST]] to %[[END:.*]] step %c256 iter_args(%[[BEFORE:.*]] = %c0_i32) -> (i32) {
    // CHECK:   %[[ELEMENT:.*]] = llvm.load
    // CHECK:   %[[NEXT:.*]] = arith.addi %[[BEFORE]], %[[ELEMENT]] : i32
    // Loads of four iterations wait together. Behind the last one is nothing to add.
    // CHECK:   %[[SECOND:.*]] = arith.addi %[[I]], %c64
    // CHECK:   %[[IS_IN:.*]] = arith.cmpi slt, %[[SECOND]], %[[END]]
    // CHECK:   %[[AT:.*]] = arith.select %[[IS_IN]], %[[SECOND]], %[[I]]
    // CHECK:   arith.index_cast %[[AT]]
    // CHECK:   %[[LOADED:.*]] = llvm.load
    // CHECK:   %[[TERM:.*]] = arith.select %[[IS_IN]], %[[LOADED]], %c0_i32
    // CHECK:   arith.addi %[[NEXT]], %[[TERM]] : i32
    // CHECK:   arith.addi %[[I]], %c128
    // CHECK:   arith.addi %[[I]], %c192
    // CHECK:   scf.yield
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

// What a loop stores beside its sum is stored once.
// CHECK-LABEL: func.func @stores
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c32 iter_args
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK: nvvm.redux.sync
func.func @stores(%m: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @all groups(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    %init = arith.constant 0 : i32
    %sum = scf.parallel (%i) = (%c0) to (%end) step (%c1) init (%init) -> i32 {
      %x = memref.load %m[%i] : memref<?xi32>
      %next = arith.addi %x, %x : i32
      memref.store %next, %m[%i] : memref<?xi32>
      scf.reduce(%x : i32) {
      ^bb0(%a: i32, %b: i32):
        %both = arith.addi %a, %b : i32
        scf.reduce.return %both : i32
      }
    }
    memref.store %sum, %m[%c0] : memref<?xi32>
  }
  return
}
