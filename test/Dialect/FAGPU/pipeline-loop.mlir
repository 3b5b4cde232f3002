// RUN: fa-opt %s -fagpu-pipeline | FileCheck %s

!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!mem = memref<?x64xf16, strided<[?, 1]>>

// CHECK-LABEL: func.func @overlap(
// CHECK-SAME: %[[M:[^:]*]]: memref{{.*}}, %[[N:[^:]*]]: i32)
func.func @overlap(%m: !mem, %n: i32) {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[A:.*]] = fagpu.channel
  // CHECK-NEXT: %[[B:.*]] = fagpu.channel
  %a = fagpu.channel tma : !channel
  %b = fagpu.channel tma : !channel

  // Stage 0 of the first iteration stands before the loop.
  // CHECK: fagpu.put %[[A]], %[[M]][%[[N]], %c0_i32]

  // A step is stage 0 of the newer iteration and stage 1 of the one before.
  // CHECK: scf.for
  // CHECK: %[[NEWER:.*]] = arith.subi
  // CHECK: %[[OLDER:.*]] = arith.addi %[[NEWER]],
  // CHECK: fagpu.put %[[B]], %[[M]][%[[OLDER]], %c0_i32]
  // CHECK-NEXT: fagpu.put %[[A]], %[[M]][%[[NEWER]], %c0_i32]
  // CHECK-NEXT: }

  // Stage 1 of the last iteration stands behind the loop.
  // CHECK-NOT: fagpu.put %[[A]]
  // CHECK: fagpu.put %[[B]]
  // CHECK-NEXT: return
  fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
    fagpu.put %a, %m[%i, %c0] [64, 64] {fagpu.at = [0, 2]} : !mem into !channel
    fagpu.put %b, %m[%i, %c0] [64, 64] {fagpu.at = [1, 1]} : !mem into !channel
    fagpu.yield
  }
  return
}

// A loop without slots is one stage: the first iteration, then a loop.
// CHECK-LABEL: func.func @one_stage
// CHECK: fagpu.put %[[A:[^,]*]],
// CHECK-NEXT: fagpu.put %[[B:[^,]*]],
// CHECK: scf.for
// CHECK: fagpu.put %[[A]],
// CHECK-NEXT: fagpu.put %[[B]],
// CHECK-NEXT: }
// CHECK-NOT: fagpu.put
// CHECK: return
func.func @one_stage(%m: !mem, %n: i32) {
  %c0 = arith.constant 0 : i32
  %a = fagpu.channel tma : !channel
  %b = fagpu.channel tma : !channel
  fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
    fagpu.put %a, %m[%i, %c0] [64, 64] : !mem into !channel
    fagpu.put %b, %m[%i, %c0] [64, 64] : !mem into !channel
    fagpu.yield
  }
  return
}
