// RUN: fa-opt %s -fagpu-pin -verify-diagnostics | FileCheck %s

!x = tensor<64x128xf32, #fagpu.acc<4>>
!h = tensor<64x128xbf16, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>

// CHECK-LABEL: func.func @operands
func.func @operands(%x: !x, %y: !x, %f: f32) -> (!h, !x) {
  // CHECK: %[[PINNED:.*]] = fagpu.pin %arg0 : tensor<64x128xf32, #fagpu.acc<4>>
  // CHECK-NEXT: %[[H:.*]] = arith.truncf %[[PINNED]] : {{.*}} to
  %h = arith.truncf %x {fagpu.pinned} : !x to !h
  // Each value once.
  // CHECK: %[[BOTH:.*]]:2 = fagpu.pin %arg0, %arg1 : {{.*}}, {{.*}}
  // CHECK-NEXT: math.fma %[[BOTH]]#0, %[[BOTH]]#1, %[[BOTH]]#0 : {{.*}}
  %z = math.fma %x, %y, %x {fagpu.pinned} : !x
  return %h, %z : !h, !x
}

// What takes no registers until it is used is not pinned, which is said; without
// the attribute nothing is.

// CHECK-LABEL: func.func @made_at_use
// CHECK-NOT: fagpu.pin
// CHECK: return
func.func @made_at_use(%r: !row, %f: f32, %y: !x) -> (!x, !x) {
  %zero = arith.constant dense<0.0> : !x
  %a = fagpu.broadcast %r : !row -> !x
  %b = tensor.splat %f : !x
  // expected-warning @below {{is pinned, but has no operand that threads hold: its operands are made where they are used, so that nothing keeps it at its place; pin what uses its result instead}}
  %c = math.fma %a, %b, %zero {fagpu.pinned} : !x
  %d = arith.addf %y, %y : !x
  return %c, %d : !x, !x
}
