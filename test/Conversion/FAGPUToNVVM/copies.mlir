// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" | FileCheck %s
// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,fagpu-lower-kernel)" | FileCheck %s --check-prefix=ROLES

// The product of a tile by itself, copied and stored by four warps.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!operand = tensor<64x64xbf16, #fagpu.opa<4>>
!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!f = memref<?x64xf32>

// Addresses and strides, no tensor maps; no mbarrier.
// CHECK-LABEL: func.func @square(
// CHECK-SAME: %[[M:[^:]+]]: !llvm.ptr<1>, %{{[^:]+}}: i64, %[[STRIDE:[^:]+]]: i64, %{{[^:]+}}: i64,
// CHECK-SAME: %[[N:[^:]+]]: i32, %[[P:[^:]+]]: i1)
// CHECK-SAME: fagpu.shared_memory = 8192

// The role is the whole block: no branch.
// ROLES-LABEL: llvm.func @square(
// ROLES-SAME: nvvm.maxntid = array<i32: 128>, nvvm.minctasm = 2 : i32
// ROLES-NOT: scf.if
func.func @square(%m: !m, %o: !m, %f: !f, %n: i32, %p: i1)
    attributes {fagpu.kernel = "sm_80", fagpu.blocks_per_sm = 2} {
  // CHECK-NOT: nvvm.mbarrier.init
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !tile
  %s = fagpu.channel threads over(%t : !tile) : !tile
  // CHECK: fagpu.role @all
  fagpu.role @all groups(1) {
    // 128 threads copy 16 rows at once: four copies, each with the limit of its
    // own row; a row past it reads nothing.
    // CHECK: %[[PAST0:.*]] = arith.cmpi sle, %[[LEFT:[0-9]+]], %{{.*}} : i32
    // CHECK: llvm.inline_asm has_side_effects {{.*}}"@$3 cp.async.cg.shared.global [$0], [$1], 16, $2;", "l,l,b,b,~{memory}" %{{[^,]*}}, %{{[^,]*}}, %[[PAST0]], %[[P]]
    // CHECK: %[[C16:.*]] = arith.constant 16 : i32
    // CHECK: %[[PAST16:.*]] = arith.cmpi sle, %[[LEFT]], %[[C16]] : i32
    // CHECK: cp.async.cg.shared.global {{.*}}, %[[PAST16]], %[[P]]
    // CHECK-COUNT-2: cp.async.cg.shared.global
    // CHECK-NOT: cp.async.cg.shared.global
    // CHECK: nvvm.cp.async.commit.group
    fagpu.put %t, %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] rows(%n) if(%p) : !m into !tile
    // CHECK: nvvm.cp.async.wait.group 0
    // CHECK-NEXT: {{.*}}constant
    // CHECK-NEXT: nvvm.barrier0
    %v = fagpu.acquire %t : !tile
    // Steps of 16: one fragment of 16 rows, four of 16 columns, then eight
    // products of 16x8.
    // CHECK: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK-NOT: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
    // CHECK-NOT: nvvm.mma.sync
    // CHECK-COUNT-5: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync
    // CHECK-COUNT-5: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync
    // CHECK-COUNT-5: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync
    %x = fagpu.mma nt %v, %v : !view, !view -> !acc
    // A first operand in registers is not read; K x N is read transposed.
    // CHECK-COUNT-16: nvvm.convert.f32x2.to.bf16x2
    // CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
    // CHECK-COUNT-8: nvvm.mma.sync
    // CHECK-COUNT-4: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync
    // CHECK-COUNT-4: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync
    // CHECK-COUNT-4: nvvm.ldmatrix
    // CHECK-COUNT-8: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %h = arith.truncf %x : !acc to !half
    %a = fagpu.convert %h : !half -> !operand
    %y = fagpu.mma nn %a, %v acc(%x : !acc) : !operand, !view -> !acc
    fagpu.release %v : !view
    // Staged where the tile was: 16 words of a thread, then four times 16 bytes.
    // CHECK: nvvm.barrier0
    // CHECK: nvvm.bar.warp.sync
    // CHECK-COUNT-16: llvm.store %{{.*}} : i32, !llvm.ptr<3>
    // CHECK-NOT: llvm.store
    // CHECK: nvvm.bar.warp.sync
    // CHECK-COUNT-4: "@$5 st.global.v4.b32 [$0 + 0], {$1, $2, $3, $4};", "l,r,r,r,r,b,~{memory}"
    // CHECK-NOT: st.global.v4
    fagpu.store %h, %o[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 64] rows(%n) via(%s : !tile) : !half into !m
    fagpu.store %y, %f[%c0, %c0] : !acc into !f
  }
  return
}

// ROLES: llvm.return

// Among several roles the threads of one wait at a barrier of their own, and f16
// operands are vectors.
!facc = tensor<64x16xf32, #fagpu.acc<4>>
!ft = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!fv = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!ks = !fagpu.channel<16x64xf16, #fagpu.smem<128>, 1>
!kv = !fagpu.view<16x64xf16, #fagpu.smem<128>>
// CHECK-LABEL: func.func @roles
func.func @roles(%m: memref<?x64xf16>, %f: memref<?x16xf32>, %n: i32) attributes {fagpu.kernel = "sm_90"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !ft
  %k = fagpu.channel cp_async : !ks
  fagpu.role @one groups(1) {
    // CHECK: nvvm.cp.async.wait.group 1
    // CHECK: nvvm.cp.async.wait.group 0
    // CHECK: nvvm.barrier id
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) : memref<?x64xf16> into !ft
    fagpu.put %k, %m[%c0, %c0] [16, 64] rows(%n) : memref<?x64xf16> into !ks
    %v = fagpu.acquire %t : !ft
    %w = fagpu.acquire %k : !ks
    // CHECK-COUNT-8: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %x = fagpu.mma nt %v, %w : !fv, !kv -> !facc
    fagpu.release %v : !fv
    fagpu.release %w : !kv
    fagpu.store %x, %f[%c0, %c0] rows(%n) : !facc into memref<?x16xf32>
  }
  fagpu.role @other groups(1) {
  }
  return
}

// Groups of two warps stand beside each other, and all of their threads wait at
// one barrier: that of the block, or one behind those of each group.
// CHECK-LABEL: func.func @column_groups
// ROLES-LABEL: llvm.func @column_groups(
// ROLES-SAME: nvvm.maxntid = array<i32: 128>
func.func @column_groups(%m: memref<?xi32>) attributes {fagpu.kernel = "sm_80"} {
  // ROLES: %[[WARP:.*]] = nvvm.shfl.sync
  // ROLES: %[[ONE:.*]] = arith.constant 1 : i32
  // ROLES-NEXT: %[[GROUP:.*]] = arith.shrui %{{.*}}, %[[ONE]]
  // ROLES-NEXT: nvvm.barrier0
  // ROLES-NEXT: arith.index_cast %[[GROUP]]
  fagpu.role @all(%g) groups(2) warps(2) {
    // CHECK: nvvm.barrier0
    fagpu.sync
    %i = arith.index_cast %g : i32 to index
    memref.store %g, %m[%i] : memref<?xi32>
  }
  return
}

// CHECK-LABEL: func.func @column_groups_beside
// ROLES-LABEL: llvm.func @column_groups_beside(
// ROLES-SAME: nvvm.maxntid = array<i32: 256>
func.func @column_groups_beside() attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @all(%g) groups(2) warps(2) {
    // CHECK-DAG: %[[BARRIER:.*]] = arith.constant 3 : i32
    // CHECK-DAG: %[[THREADS:.*]] = arith.constant 128 : i32
    // CHECK: nvvm.barrier id = %[[BARRIER]] number_of_threads = %[[THREADS]]
    fagpu.sync
  }
  fagpu.role @other groups(1) warps(1) {
  }
  return
}

// The panels of a slice are as far apart as those of the whole: 128 rows.
!big = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
!bigv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!sliced = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
// CHECK-LABEL: func.func @slice
func.func @slice(%m: memref<?x128xbf16>, %f: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %t = fagpu.channel cp_async : !big
  fagpu.role @all groups(1) {
    fagpu.put %t, %m[%c0, %c0] [128, 128] rows(%n) : memref<?x128xbf16> into !big
    %v = fagpu.acquire %t : !big
    %s = fagpu.slice %v[%c64, %c0] : !bigv to !sliced
    // CHECK: nvvm.ldmatrix
    // CHECK: llvm.getelementptr %{{.*}}[16384] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK-NEXT: nvvm.ldmatrix
    %x = fagpu.mma nt %s, %s : !sliced, !sliced -> tensor<64x64xf32, #fagpu.acc<4>>
    fagpu.release %v : !bigv
    fagpu.store %x, %f[%c0, %c0] rows(%n) : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x64xf32>
  }
  return
}
