// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" | FileCheck %s

// Tiles whose rows are no multiple of 128 bytes have narrower panels.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!f = memref<?x64xf32>

// Panels of 32 bytes: two threads a row, 64 rows at once; the chunk's number is
// xored with bit 2 of the row's.
!t32 = !fagpu.channel<64x48xbf16, #fagpu.smem<32>, 1>
!v32 = !fagpu.view<64x48xbf16, #fagpu.smem<32>>
// CHECK-LABEL: func.func @three_panels
// CHECK-SAME: fagpu.shared_memory = 6144
func.func @three_panels(%m: memref<?x48xbf16>, %f: !f, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  // CHECK: %[[TWO:.*]] = arith.constant 2 : i32
  // CHECK-NEXT: %[[PAIR:.*]] = arith.shrui %[[ROW:.*]], %[[TWO]] : i32
  // CHECK: %[[PHASE:.*]] = arith.andi %[[PAIR]],
  // CHECK: arith.xori %{{.*}}, %[[PHASE]]
  // CHECK: %[[FIVE:.*]] = arith.constant 5 : i32
  // CHECK: arith.shli %[[ROW]], %[[FIVE]]
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t32
  fagpu.role @all groups(1) {
    // One row a thread, a chunk of each of three panels, which are 2048 apart.
    // CHECK: llvm.getelementptr %{{.*}}[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK: llvm.getelementptr %{{.*}}[16] : (!llvm.ptr<1>) -> !llvm.ptr<1>, bf16
    // CHECK: llvm.getelementptr %{{.*}}[4096] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK: llvm.getelementptr %{{.*}}[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, bf16
    // CHECK-COUNT-3: cp.async.cg.shared.global
    // CHECK-NOT: cp.async.cg.shared.global
    // CHECK: nvvm.cp.async.commit.group
    fagpu.put %t, %m[%c0, %c0] [64, 48] rows(%n) : memref<?x48xbf16> into !t32
    %v = fagpu.acquire %t : !t32
    // Three steps of 16, each of one A and four B fragments.
    // CHECK-COUNT-15: nvvm.ldmatrix
    // CHECK-NOT: nvvm.ldmatrix
    %x = fagpu.mma nt %v, %v : !v32, !v32 -> !acc
    fagpu.release %v : !v32
    fagpu.store %x, %f[%c0, %c0] rows(%n) : !acc into !f
  }
  return
}

// Panels of 64 bytes: a staged value leaves by four lanes a row, eight rows of a
// warp at once, from panels of 32 columns.
!half = tensor<64x96xbf16, #fagpu.acc<4>>
!t64 = !fagpu.channel<64x96xbf16, #fagpu.smem<64>, 1>
// CHECK-LABEL: func.func @staged
// CHECK-SAME: fagpu.shared_memory = 12288
func.func @staged(%m: memref<?x96xbf16>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %s = fagpu.channel threads : !t64
  fagpu.role @all groups(1) {
    %y = tensor.splat %x : tensor<64x96xf32, #fagpu.acc<4>>
    %h = arith.truncf %y : tensor<64x96xf32, #fagpu.acc<4>> to !half
    // CHECK-COUNT-24: llvm.store %{{.*}} : i32, !llvm.ptr<3>
    // CHECK-COUNT-6: st.global.v4.b32
    // CHECK-NOT: st.global.v4.b32
    fagpu.store %h, %m[%c0, %c0] rows(%n) via(%s : !t64) : !half into memref<?x96xbf16>
  }
  return
}

// A bulk copy has a map of the same panels.
!b = !fagpu.channel<64x96xbf16, #fagpu.smem<64>, 1>
!bv = !fagpu.view<64x96xbf16, #fagpu.smem<64>>
// CHECK-LABEL: func.func @bulk
// CHECK-SAME: columns = 32 : i64, kind = "tensor_map", panels = 3 : i64, swizzle = 64 : i64
func.func @bulk(%m: memref<128x96xbf16>, %f: !f) attributes {fagpu.kernel = "sm_90"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !b
  fagpu.role @load groups(1) elect {
    fagpu.put %t, %m[%c0, %c0] [64, 96] : memref<128x96xbf16> into !b
  }
  fagpu.role @all groups(1) {
    %v = fagpu.acquire %t : !b
    // CHECK: nvvm.ldmatrix
    %x = fagpu.mma nt %v, %v : !bv, !bv -> !acc
    fagpu.release %v : !bv
    fagpu.store %x, %f[%c0, %c0] : !acc into !f
  }
  return
}
