// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-expand-slots | FileCheck %s

// CHECK-LABEL: func.func @inherit
func.func @inherit(%n: i32) {
  %c0 = arith.constant 0 : i32
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) {
    // Scalars have no slot, not even one that they were given.
    // CHECK: arith.addi %{{.*}}, %{{.*}} : i32
    %x = arith.addi %i, %i {fagpu.at = [0, 7]} : i32
    // CHECK: "a"({{.*}}) {fagpu.at = [0, 7]}
    "a"(%x) : (i32) -> ()
    // CHECK: "b"() {fagpu.at = [1, 3]}
    "b"() {fagpu.at = [1, 3]} : () -> ()
    // CHECK: "c"() {fagpu.at = [1, 3]}
    "c"() : () -> ()
    fagpu.yield
  }
  // CHECK: fagpu.for
  fagpu.for %i = %n step -1 segments(%rest: to %c0) {
    // CHECK: "a"({{.*}}) : (i32) -> ()
    "a"(%i) : (i32) -> ()
    fagpu.yield
  }
  return
}
