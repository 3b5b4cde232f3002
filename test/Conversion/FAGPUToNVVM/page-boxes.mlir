// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-assign-waits,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// An elected lane of each of four warps copies boxes of pages. Where some warps have fewer, the branch on the warp is outside of
// the elections. Inside of one, ptxas 13.0 joined it with the next branch on the warp, and each side elected once more: on
// an H200 head dim 256 with pages of 16 rows never ended.

!p = !fagpu.channel<80x64xbf16, #fagpu.smem<128>, 2>
!pv = !fagpu.view<80x64xbf16, #fagpu.smem<128>>
!e = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!ev = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!q = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!s = tensor<64x80xf32, #fagpu.acc<4>>
!t = tensor<64x64xf32, #fagpu.acc<4>>
!pool = memref<?x16x2x64xbf16>

// Five boxes: the first warp copies two.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%pool: !pool, %table: memref<?x?xi32>, %m: memref<?x64xbf16>, %o: memref<?x80xf32>, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %p = fagpu.channel tma : !p
  %q = fagpu.channel tma : !q
  // CHECK: fagpu.role @load
  fagpu.role @load groups(1) elect {
    // CHECK: nvvm.shfl.sync
    // CHECK: scf.if %{{.*}} {
    // CHECK-NEXT: %[[LANE:.*]] = nvvm.elect.sync
    // CHECK-NEXT: scf.if %[[LANE]] {
    // CHECK-NOT: scf.if
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c4096_i32
    // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
    // CHECK: } else {
    // CHECK-NEXT: %[[LANE:.*]] = nvvm.elect.sync
    // CHECK-NEXT: scf.if %[[LANE]] {
    // CHECK-NOT: scf.if
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c2048_i32
    // CHECK: nvvm.cp.async.bulk.tensor
    // CHECK-NOT: nvvm.cp.async.bulk.tensor
    // CHECK: mbarrier.try_wait
    fagpu.put %p, %pool[%c0, %c0, %c0, %c0] [1, 80, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%n) : !pool into !p
    fagpu.put %q, %m[%c0, %c0] [64, 64] rows(%n) : memref<?x64xbf16> into !q
  }
  fagpu.role @math groups(1) {
    %qv = fagpu.acquire %q : !q
    %pv = fagpu.acquire %p : !p
    %f = fagpu.mma_async nt %qv, %pv : !qv, !pv -> !fagpu.inflight<!s>
    %y = fagpu.wait %f : !fagpu.inflight<!s>
    fagpu.release %pv : !pv
    fagpu.release %qv : !qv
    fagpu.store %y, %o[%c0, %c0] rows(%n) : !s into memref<?x80xf32>
  }
  return
}

// Four boxes: every warp copies one.
// CHECK-LABEL: func.func @even
func.func @even(%pool: !pool, %table: memref<?x?xi32>, %o: memref<?x64xf32>, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %p = fagpu.channel tma : !e
  // CHECK: fagpu.role @load
  fagpu.role @load groups(1) elect {
    // CHECK: nvvm.shfl.sync
    // CHECK-NOT: scf.if
    // CHECK: %[[LANE:.*]] = nvvm.elect.sync
    // CHECK-NEXT: scf.if %[[LANE]] {
    // CHECK: nvvm.cp.async.bulk.tensor
    // CHECK-NOT: else
    // CHECK: fagpu.role @math
    fagpu.put %p, %pool[%c0, %c0, %c0, %c0] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%n) : !pool into !e
  }
  fagpu.role @math groups(1) {
    %pv = fagpu.acquire %p : !e
    %f = fagpu.mma_async nt %pv, %pv : !ev, !ev -> !fagpu.inflight<!t>
    %y = fagpu.wait %f : !fagpu.inflight<!t>
    fagpu.release %pv : !ev
    fagpu.store %y, %o[%c0, %c0] rows(%n) : !t into memref<?x64xf32>
  }
  return
}
