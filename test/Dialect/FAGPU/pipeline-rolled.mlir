// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-expand-slots -fagpu-pipeline -canonicalize -cse -split-input-file | FileCheck %s

// One loop for all segments: a flag is true from the end of the segment before
// to that of its own, of which the last one needs no test.

// CHECK-LABEL: func.func @falling
// CHECK-SAME: (%[[START:.*]]: i32, %[[MIDDLE:.*]]: i32, %[[X:.*]]: f32)
func.func @falling(%start: i32, %middle: i32, %x: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
  // CHECK: %[[REACHED:.*]] = arith.subi %[[START]], %[[MIDDLE]] : i32
  // CHECK: %[[SECOND:.*]] = arith.addi %[[REACHED]], %[[C1]] : i32
  // CHECK: %[[PASSED:.*]] = arith.maxsi %[[SECOND]], %[[C1]] : i32
  // CHECK: %[[ALL:.*]] = arith.addi %[[START]], %[[C1]] : i32
  // CHECK: %[[TRIPS:.*]] = arith.maxsi %[[PASSED]], %[[ALL]] : i32
  // CHECK: %[[R:.*]] = scf.for %[[TRIP:.*]] = %[[C0]] to %[[TRIPS]] step %[[C1]] iter_args(%[[S:.*]] = %[[X]]) -> (f32)
  // CHECK-DAG: %[[INDEX:.*]] = arith.subi %[[START]], %[[TRIP]] : i32
  // CHECK-DAG: %[[FIRST:.*]] = arith.cmpi slt, %[[TRIP]], %[[C1]] : i32
  // CHECK-DAG: %[[FROM:.*]] = arith.cmpi sge, %[[TRIP]], %[[C1]] : i32
  // CHECK-DAG: %[[TO:.*]] = arith.cmpi slt, %[[TRIP]], %[[PASSED]] : i32
  // CHECK-DAG: %[[PARTIAL:.*]] = arith.andi %[[FROM]], %[[TO]] : i1
  // CHECK-DAG: %[[FULL:.*]] = arith.cmpi sge, %[[TRIP]], %[[PASSED]] : i32
  // CHECK: %[[Y:.*]] = "step"(%[[INDEX]], %[[FIRST]], %[[PARTIAL]], %[[FULL]], %[[S]])
  // CHECK: scf.yield %[[Y]] : f32
  // CHECK-NOT: "step"
  // CHECK: return %[[R]] : f32
  %r = fagpu.for %i = %start step -1 rolled segments(%first: once, %partial: to %middle, %full: to %c0)
      iter(%s = %x) -> (f32) {
    %y = "step"(%i, %first, %partial, %full, %s) : (i32, i1, i1, i1, f32) -> f32
    fagpu.yield %y : f32
  }
  return %r : f32
}

// -----

// A rising loop does not reach its bound; orders hold.

// CHECK-LABEL: func.func @rising
// CHECK-SAME: (%[[START:.*]]: i32, %[[N:.*]]: i32)
func.func @rising(%start: i32, %n: i32) {
  // CHECK: %[[C1:.*]] = arith.constant 1 : i32
  // CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[START]] : i32
  // CHECK: %[[TRIPS:.*]] = arith.maxsi %[[LEFT]], %[[C1]] : i32
  // CHECK: scf.for %[[TRIP:.*]] = %{{.*}} to %[[TRIPS]]
  // CHECK: %[[INDEX:.*]] = arith.addi %[[START]], %[[TRIP]] : i32
  // CHECK: %[[REST:.*]] = arith.cmpi sge, %[[TRIP]], %[[C1]] : i32
  // CHECK: "b"(%[[INDEX]], %[[REST]])
  // CHECK: "a"(%[[INDEX]])
  fagpu.for %i = %start step 1 rolled segments(%first: once, %rest: to %n) {
    "a"(%i) {fagpu.at = [0, 2]} : (i32) -> ()
    "b"(%i, %rest) {fagpu.at = [0, 1]} : (i32, i1) -> ()
    fagpu.yield
  }
  return
}
