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
// CHECK-SAME: columns = 32 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 3 : i64, swizzle = 64 : i64
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

// Descriptors of asynchronous products: 2 and 3 in the upper bits for panels of
// 64 and 32 bytes, eight rows of a panel as the stride. Along the rows a panel
// of 64 bytes has two steps of 16; the next panel is 64 rows of 64 bytes on, in
// units of 16 bytes.
!async_p64 = !fagpu.channel<64x96xbf16, #fagpu.smem<64>, 1>
!async_p32 = !fagpu.channel<64x48xbf16, #fagpu.smem<32>, 1>
!async_v64 = !fagpu.view<64x96xbf16, #fagpu.smem<64>>
!async_v32 = !fagpu.view<64x48xbf16, #fagpu.smem<32>>
!async_s = tensor<64x64xf32, #fagpu.acc<4>>
!async_x = tensor<64x48xf32, #fagpu.acc<4>>
!async_h = tensor<64x64xbf16, #fagpu.acc<4>>
!async_pa = tensor<64x64xbf16, #fagpu.opa<4>>
// CHECK-LABEL: func.func @products
func.func @products(%m: memref<128x96xbf16>, %n: memref<128x48xbf16>, %f: memref<?x48xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %a = fagpu.channel tma : !async_p64
  %b = fagpu.channel tma : !async_p32
  fagpu.role @load groups(1) elect {
    fagpu.put %a, %m[%c0, %c0] [64, 96] : memref<128x96xbf16> into !async_p64
    fagpu.put %b, %n[%c0, %c0] [64, 48] : memref<128x48xbf16> into !async_p32
  }
  fagpu.role @all groups(1) {
    %v = fagpu.acquire %a : !async_p64
    %w = fagpu.acquire %b : !async_p32
    // 2 << 62 | 32 << 32
    // CHECK: arith.constant -9223371899415822336 : i64
    // CHECK: add.s64 b, $33, 0; {{.*}}add.s64 b, $33, 2; {{.*}}add.s64 b, $33, 256; {{.*}}add.s64 b, $33, 258; {{.*}}add.s64 b, $33, 512; {{.*}}add.s64 b, $33, 514;
    %f0 = fagpu.mma_async nt %v, %v : !async_v64, !async_v64 -> !fagpu.inflight<!async_s>
    %s = fagpu.wait %f0 pending(0) : !fagpu.inflight<!async_s>
    %h = arith.truncf %s : !async_s to !async_h
    %pa = fagpu.convert %h : !async_h -> !async_pa
    // 3 << 62 | 16 << 32; a step along the rows of the tile is 16 of 32 bytes.
    // CHECK: arith.constant -4611685949707911168 : i64
    // CHECK: add.s64 b, ${{[0-9]+}}, 0; {{.*}}m64n48k16{{.*}}add.s64 b, ${{[0-9]+}}, 32; {{.*}}add.s64 b, ${{[0-9]+}}, 64; {{.*}}add.s64 b, ${{[0-9]+}}, 96;
    %f1 = fagpu.mma_async nn %pa, %w : !async_pa, !async_v32 -> !fagpu.inflight<!async_x keeps !async_pa>
    %x = fagpu.wait %f1 pending(0) : !fagpu.inflight<!async_x keeps !async_pa>
    fagpu.release %v : !async_v64
    fagpu.release %w : !async_v32
    fagpu.store %x, %f[%c0, %c0] : !async_x into memref<?x48xf32>
  }
  return
}
