// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Stages that one thread stores, or adds to memory, in bulk.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!f = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
!fv = !fagpu.view<64x64xf32, #fagpu.smem<128>>
!h = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!hv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x64xf32>

// A map of two panels of 32 floats, whose rows are bounded, and one of halves.
// CHECK-LABEL: func.func @drains(
// CHECK-SAME: %[[F:[^:]+]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: %[[O:[^:]+]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: bounded = true, box = [1, 64, 1, 64], columns = 32 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 2 : i64, row = 1 : i64, swizzle = 128 : i64
// CHECK-SAME: bounded = false, box = [64, 64], columns = 64 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 1 : i64, swizzle = 128 : i64
func.func @drains(%m: !m, %o: memref<64x64xbf16>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %f = fagpu.channel threads : !f
  %h = fagpu.channel threads : !h
  fagpu.role @store groups(1) elect {
    // CHECK: mbarrier.try_wait.parity
    %v = fagpu.acquire %f : !f
    // CHECK: nvvm.cp.async.bulk.tensor.reduce %[[F]], %{{.*}}, box[{{.*}}] {redKind = #nvvm.tma_redux_kind<add>}
    // CHECK: nvvm.cp.async.bulk.commit.group
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    fagpu.drain %v, %m[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 64] rows(%n) add : !fv into !m
    // The elected thread arrives, whichever it is.
    // CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
    fagpu.release %v : !fv
    // CHECK: mbarrier.try_wait.parity
    %w = fagpu.acquire %h : !h
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[O]]
    // CHECK: nvvm.cp.async.bulk.commit.group
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    fagpu.drain %w, %o[%c0, %c0] : !hv into memref<64x64xbf16>
    fagpu.release %w : !hv
    // All of it is in memory when the role ends.
    // CHECK: nvvm.cp.async.bulk.wait_group 0
  }
  // CHECK: fagpu.role @math
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    %z = arith.truncf %y : !acc to !half
    // Pairs of floats: 16 rows of each warp, two rows of 64 columns a thread.
    // CHECK: mbarrier.try_wait.parity
    // CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
    // CHECK-NOT: vector<2xf32>
    // CHECK: nvvm.fence.proxy
    // CHECK: nvvm.bar.warp.sync
    // CHECK: mbarrier.arrive
    fagpu.write %f, %y : !acc into !f
    // CHECK: nvvm.stmatrix
    fagpu.write %h, %z : !half into !h
  }
  return
}

// Of a group, its first thread stores; it also releases the stage.
// CHECK-LABEL: func.func @by_group(
func.func @by_group(%o: memref<64x64xbf16>, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %h = fagpu.channel threads : !h
  fagpu.role @store groups(1) {
    // CHECK: fagpu.role @store
    %w = fagpu.acquire %h : !h
    // CHECK: scf.if %[[LEADER:.*]] {
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    // CHECK: }
    // CHECK: mbarrier.arrive{{.*}} %[[LEADER]]
    fagpu.drain %w, %o[%c0, %c0] : !hv into memref<64x64xbf16>
    fagpu.release %w : !hv
  }
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    %z = arith.truncf %y : !acc to !half
    fagpu.write %h, %z : !half into !h
  }
  return
}
