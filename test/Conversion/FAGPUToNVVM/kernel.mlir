// RUN: fa-opt %s -fagpu-assign-waits -fagpu-assign-stages -fagpu-plan-resources -convert-fagpu-to-nvvm | FileCheck %s
// RUN: fa-opt %s -fagpu-assign-waits -fagpu-assign-stages -fagpu-plan-resources -convert-fagpu-to-nvvm -cse | FileCheck %s --check-prefix=SHARED
// RUN: fa-opt %s -fagpu-assign-waits -fagpu-assign-stages -fagpu-plan-resources -convert-fagpu-to-nvvm -fagpu-lower-kernel | FileCheck %s --check-prefix=ROLES

// One product of a tile by itself: every kind of channel operation once.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!out = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>

// Parameters: a map for the tiles of %m whose rows are bounded, with its unit
// strides; a map of %o; %s by address and strides.
// CHECK: llvm.mlir.global external @fagpu_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: func.func @square(
// CHECK-SAME: %[[MAP:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>}, %[[UB:[^:]+]]: i32, %[[UR:[^:]+]]: i32, %[[UH:[^:]+]]: i32,
// CHECK-SAME: %[[OUT:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>},
// CHECK-SAME: %[[SUMS:[^:]+]]: !llvm.ptr<1>, %[[S0:[^:]+]]: i64, %[[N:[^:]+]]: i32, %[[COUNTER:[^:]+]]: !llvm.ptr<1>)
// CHECK-SAME: {argument = 0 : i64, bounded = true, box = [1, 64, 1, 64], columns = 64 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 1 : i64, row = 1 : i64, swizzle = 128 : i64}, {argument = 0 : i64, dim = 0 : i64, kind = "unit_stride"}
// CHECK-SAME: {argument = 1 : i64, bounded = false,
// CHECK-SAME: {argument = 2 : i64, kind = "pointer"}, {argument = 2 : i64, dim = 0 : i64, kind = "stride"}, {argument = 3 : i64, kind = "scalar"}, {argument = 4 : i64, kind = "pointer"}

// ROLES-LABEL: llvm.func @square(
// ROLES-SAME: nvvm.grid_constant
// ROLES-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 256>, nvvm.minctasm = 1 : i32
func.func @square(%m: !m, %o: !m, %s: memref<?x?xf32>, %n: i32, %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // Thread 0 sets up the barriers: 2 full, 2 empty, then those of the mail.
  // CHECK: scf.if
  // CHECK-COUNT-6: nvvm.mbarrier.init
  // CHECK-NOT: nvvm.mbarrier.init
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK: nvvm.barrier0
  %t = fagpu.channel tma : !tile
  %via = fagpu.channel tma_store : !out
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  // The number of a warp comes from its first lane.
  // ROLES: %[[WARP:.*]] = nvvm.shfl.sync idx
  // ROLES: scf.if
  // ROLES-NEXT: nvvm.setmaxregister decrease 40
  // ROLES: scf.if
  // ROLES: %[[E:.*]] = nvvm.elect.sync
  // ROLES-NEXT: scf.if %[[E]]
  // CHECK: fagpu.role @copy
  fagpu.role @copy groups(1) regs(40) elect {
    // CHECK: mbarrier.try_wait.parity
    // CHECK: nvvm.mbarrier.arrive.expect_tx
    // Rows end at %n: the coordinate of row 0 is 2^30 - n.
    // CHECK: %[[LAST:.*]] = arith.constant 1073741824 : i32
    // CHECK: %[[FIRST:.*]] = arith.subi %[[LAST]], %[[N]]
    // CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]],
    // CHECK: %[[PART:.*]] = arith.muli %[[N]], %[[UR]]
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %{{.*}}, box[%{{.*}}, %[[ROW]], %[[LAST]], %{{.*}}]
    fagpu.put %t, %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] rows(%n) : !m into !tile
    // CHECK: llvm.store %[[N]], %{{.*}} : i32, !llvm.ptr<3>
    // CHECK: mbarrier.arrive.shared::cta.b64
    fagpu.send %mail, %n : !fagpu.mail<1, i32>
    // CHECK: llvm.atomicrmw add %[[COUNTER]], %{{.*}} monotonic
    // CHECK: nvvm.read.ptx.sreg.nctaid.x
    %tile = fagpu.ticket %counter : memref<2xi32>
    // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} acq_rel
    // CHECK: scf.if
    // CHECK-COUNT-2: llvm.store %{{.*}} : i32, !llvm.ptr<1>
    fagpu.retire %counter : memref<2xi32>
  }
  // ROLES: scf.if
  // ROLES: nvvm.setmaxregister increase 232
  // CHECK: fagpu.role @math
  fagpu.role @math groups(1) regs(232) {
    // CHECK: mbarrier.try_wait.parity
    // CHECK: llvm.load volatile
    // CHECK: nvvm.bar.warp.sync
    // CHECK: @$1 mbarrier.arrive
    // CHECK: nvvm.shfl.sync idx
    %rows = fagpu.recv %mail : !fagpu.mail<1, i32>
    // CHECK: mbarrier.try_wait.parity
    %v = fagpu.acquire %t : !tile
    // Four steps of 16, in one piece, starting at zero.
    // CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.fence.sync.aligned; add.s64 a, $32, 0; add.s64 b, $33, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, a, b, zero, 1, 1, 0, 0; {{.*}}a, b, add, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; }", "=&f,
    %f = fagpu.mma_async nt %v, %v : !view, !view -> !fagpu.inflight<!acc>
    // CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 0;", "=f,{{.*}},0,1,2,
    %x = fagpu.wait %f : !fagpu.inflight<!acc>
    // CHECK: @$1 mbarrier.arrive
    fagpu.release %v : !view
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    %sum = fagpu.reduce add %x : !acc -> !row
    // The first lane of a quad stores a row, by a predicate.
    // CHECK-COUNT-2: @$2 st.global.f32 [$0], $1;
    // Its second row goes on from the first.
    // SHARED-COUNT-4: nvvm.shfl.sync bfly
    // SHARED: %[[OF_THREAD:.*]] = arith.addi
    // SHARED-NEXT: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[OF_THREAD]] : i32
    // SHARED: arith.cmpi slt, %[[FIRST]], %[[ROWS:.*]] : i32
    // SHARED: @$2 st.global.f32 [$0], $1;
    // SHARED: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c8_i32
    // SHARED: arith.cmpi slt, %[[SECOND]], %[[ROWS]] : i32
    // SHARED: @$2 st.global.f32 [$0], $1;
    fagpu.store %sum, %s[%c0, %c0] rows(%rows) : !row into memref<?x?xf32>
    %h = arith.truncf %x : !acc to !half
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    // CHECK: nvvm.barrier id
    // CHECK-COUNT-4: nvvm.stmatrix
    // CHECK-NOT: nvvm.stmatrix
    // CHECK: nvvm.fence.proxy
    // CHECK: nvvm.barrier id
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[OUT]]
    // CHECK: nvvm.cp.async.bulk.commit.group
    fagpu.store %h, %o[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 64] via(%via : !out) : !half into !m
    // CHECK: nvvm.cp.async.bulk.wait_group 0
  }
  // ROLES: llvm.return
  return
}
