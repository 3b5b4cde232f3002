// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-waits,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" | FileCheck %s --check-prefix=NVVM
// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-waits,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,fagpu-lower-kernel)" | FileCheck %s --check-prefix=ROLES

!tile = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
!mail = !fagpu.mail<1, i32>

// A row of the table that is read outside of pages.
// NVVM: llvm.mlir.global internal constant @fagpu_outside_128_bf16_nan(dense<32704> : tensor<128xi16>) {addr_space = 1 : i32, alignment = 16 : i64}
// NVVM-LABEL: func.func @rows
// Each lane of four warps arrives at the two barriers of full stages, a group at the others.
// NVVM-COUNT-2: nvvm.mbarrier.init {{.*}}, %c128_i32
// ROLES-LABEL: llvm.func @rows
func.func @rows(%pool: memref<?x?x2x128xbf16>, %table: memref<?x?xi32>, %o: memref<?x64xf32>, %end: i32, %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel pages : !tile
  %m = fagpu.mail : !mail
  // All warps run it, and a thread of the first one what one does.
  // ROLES: nvvm.setmaxregister decrease 40
  // ROLES-NOT: nvvm.elect.sync
  // ROLES: arith.cmpi eq
  // ROLES: nvvm.elect.sync
  // ROLES: nvvm.cp.async.mbarrier.arrive
  // NVVM: fagpu.role @load
  fagpu.role @load groups(1) regs(40) elect {
    // The others hear of a ticket.
    // NVVM: scf.if
    // NVVM:   nvvm.elect.sync
    // NVVM:     %[[TICKET:.*]] = llvm.atomicrmw add
    // NVVM:     llvm.store %[[TICKET]], %[[TOLD:.*]] : i32, !llvm.ptr<3>
    // NVVM: nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
    // NVVM: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
    // NVVM: nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
    %t = fagpu.ticket %counter : memref<2xi32>
    fagpu.send %m, %t : !mail
    // The table is read before the stage is waited for: a row for each lane of two warps.
    // NVVM: arith.divui
    // NVVM-COUNT-1: llvm.load {{.*}} : !llvm.ptr<1> -> i32
    // NVVM-NOT: llvm.load
    // NVVM: mbarrier.try_wait
    // NVVM: %[[OUTSIDE:.*]] = llvm.mlir.addressof @fagpu_outside_128_bf16_nan
    // Four rows of eight at once, in two panels; a warp has two of the eight eights.
    // NVVM-COUNT-8: cp.async.cg.shared.global [$0], [$1], 16;
    // NVVM-NOT: cp.async.cg
    // NVVM: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true}
    // CHECK: fagpu.put %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] [1, 64, 1, 128] pages(%{{.*}} : memref<?x?xi32> at 0) rows(%{{.*}}) {fagpu.nan} : memref<?x?x2x128xbf16> into
    fagpu.put %k, %pool[%c0, %c0, %c0, %c0] [1, 64, 1, 128] pages(%table : memref<?x?xi32> at 0) rows(%end) {fagpu.nan} : memref<?x?x2x128xbf16> into !tile
  }
  fagpu.role @math groups(1) regs(200) {
    // Lanes write by the generic proxy.
    // NVVM: mbarrier.try_wait
    // NVVM: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
    %v = fagpu.acquire %k : !tile
    %f = fagpu.mma_async nt %v, %v : !view, !view -> <!acc>
    %x = fagpu.wait %f : <!acc>
    fagpu.release %v : !view
    %t:1 = fagpu.recv %m : !mail
    fagpu.store %x, %o[%t#0, %c0] : !acc into memref<?x64xf32>
  }
  return
}

// Eight pages of sixteen rows in a tile: warps take turns, and copy two each, by panels.
!wide = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
// NVVM-LABEL: func.func @boxes
// NVVM: nvvm.mbarrier.init {{.*}}, %c4_i32
// CHECK-LABEL: func.func @boxes
// ROLES-LABEL: llvm.func @boxes
func.func @boxes(%pool: memref<?x16x2x128xbf16>, %table: memref<?x?xi32>, %o: memref<?x128xf32>, %end: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // A map of boxes of a page.
  // CHECK: fagpu.channel tma
  %k = fagpu.channel tma : !wide
  fagpu.role @load groups(1) elect {
    // One entry of the table for each lane, before the stage is waited for.
    // NVVM: llvm.load {{.*}} : !llvm.ptr<1> -> i32
    // NVVM-NOT: llvm.load
    // NVVM: mbarrier.try_wait
    // NVVM-COUNT-6: nvvm.shfl.sync idx
    // NVVM: nvvm.elect.sync
    // NVVM: nvvm.mbarrier.arrive.expect_tx {{.*}}, %c8192_i32
    // NVVM-COUNT-4: nvvm.cp.async.bulk.tensor.shared.cluster.global
    // NVVM-NOT: nvvm.cp.async.bulk
    // CHECK: fagpu.put %{{.*}} [1, 128, 1, 128] pages(%{{.*}} : memref<?x?xi32> at 0) rows(%{{.*}}) : memref<?x16x2x128xbf16> into
    fagpu.put %k, %pool[%c0, %c0, %c0, %c0] [1, 128, 1, 128] pages(%table : memref<?x?xi32> at 0) rows(%end) : memref<?x16x2x128xbf16> into !wide
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %k : !wide
    // NVVM-NOT: nvvm.fence.proxy
    %q = fagpu.slice %v[%c0, %c0] : !fagpu.view<128x128xbf16, #fagpu.smem<128>> to !fagpu.view<64x128xbf16, #fagpu.smem<128>>
    %f = fagpu.mma_async nt %q, %v : !fagpu.view<64x128xbf16, #fagpu.smem<128>>, !fagpu.view<128x128xbf16, #fagpu.smem<128>> -> <tensor<64x128xf32, #fagpu.acc<4>>>
    %x = fagpu.wait %f : <tensor<64x128xf32, #fagpu.acc<4>>>
    fagpu.release %v : !fagpu.view<128x128xbf16, #fagpu.smem<128>>
    fagpu.store %x, %o[%c0, %c0] : tensor<64x128xf32, #fagpu.acc<4>> into memref<?x128xf32>
  }
  return
}

// Two pages in a tile of 48 rows: two warps copy one each.
!few = !fagpu.channel<48x64xbf16, #fagpu.smem<128>, 1>
// NVVM-LABEL: func.func @few
// NVVM: nvvm.mbarrier.init {{.*}}, %c2_i32
func.func @few(%pool: memref<?x24x2x64xbf16>, %table: memref<?x?xi32>, %end: i32, %o: memref<?x48xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel tma : !few
  fagpu.role @load groups(1) elect {
    // NVVM: arith.cmpi ult, %{{.*}}, %c2_i32
    // NVVM: scf.if
    // NVVM: nvvm.mbarrier.arrive.expect_tx {{.*}}, %c3072_i32
    // NVVM-COUNT-1: nvvm.cp.async.bulk.tensor.shared.cluster.global
    // NVVM-NOT: nvvm.cp.async.bulk
    fagpu.put %k, %pool[%c0, %c0, %c0, %c0] [1, 48, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%end) : memref<?x24x2x64xbf16> into !few
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %k : !few
    fagpu.release %v : !fagpu.view<48x64xbf16, #fagpu.smem<128>>
  }
  return
}

// CHECK-LABEL: func.func @fetch
// CHECK: fagpu.fetch %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] [1, 1, 64, 128] pages(%{{.*}} : memref<3x?xi32> at 0) rows(%{{.*}}) : memref<?x2x4x128xbf16> -> tensor<64x128xbf16>
func.func @fetch(%pool: memref<?x2x4x128xbf16>, %table: memref<3x?xi32>, %n: i32) {
  %x = fagpu.fetch %pool[%n, %n, %n, %n] [1, 1, 64, 128] pages(%table : memref<3x?xi32> at 0) rows(%n) : memref<?x2x4x128xbf16> -> tensor<64x128xbf16>
  return
}
