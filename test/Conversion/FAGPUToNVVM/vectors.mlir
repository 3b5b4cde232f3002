// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Vectors are copied in bulk without a tensor map. A launch refuses memory whose
// last dimension is not made of whole vectors.

!l = !fagpu.channel<80xf32, #fagpu.smem<0>, 2>
!i = !fagpu.channel<64xi32, #fagpu.smem<0>, 1>

// CHECK-LABEL: func.func @vectors(
// CHECK-SAME: %[[STRIDE:[^:]+]]: i64
// CHECK-SAME: {alignment = 16 : i64, argument = 0 : i64, kind = "pointer", pieces = array<i64: 80, 64>}
// CHECK-NOT: tensor_map
func.func @vectors(%m: memref<?x?xf32>, %k: memref<?xi32>, %b: i32, %r: i32, %p: i1)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %l = fagpu.channel tma : !l
  %i = fagpu.channel tma : !i
  %f = fagpu.channel tma : !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
  fagpu.role @load groups(1) elect {
    // CHECK: mbarrier.try_wait.parity
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c320_i32
    // CHECK: arith.muli %{{.*}}, %[[STRIDE]] : i64
    // CHECK: %[[FROM:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // CHECK: %[[TO:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr<7>
    // CHECK: nvvm.cp.async.bulk.shared.cluster.global %[[TO]], %[[FROM]], %{{.*}}, %c320_i32
    fagpu.put %l, %m[%b, %r] [1, 80] : memref<?x?xf32> into !l
    fagpu.put %f, %m[%b, %r] [1, 64] : memref<?x?xf32> into !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
    // A put of none waits for nothing.
    // CHECK: scf.if %{{.*}} {
    // CHECK: mbarrier.try_wait.parity
    // CHECK: nvvm.cp.async.bulk.shared.cluster.global
    // CHECK: }
    fagpu.put %i, %k[%r] [64] if(%p) : memref<?xi32> into !i
  }
  fagpu.role @read groups(1) {
    %v = fagpu.acquire %l : !l
    fagpu.release %v : !fagpu.view<80xf32, #fagpu.smem<0>>
    %w = fagpu.acquire %f : !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
    fagpu.release %w : !fagpu.view<64xf32, #fagpu.smem<0>>
    %u = fagpu.acquire %i : !i
    fagpu.release %u : !fagpu.view<64xi32, #fagpu.smem<0>>
  }
  return
}
