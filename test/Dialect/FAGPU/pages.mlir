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
// Each lane of a warp arrives at the two barriers of full stages, a group at the others.
// NVVM-COUNT-2: nvvm.mbarrier.init {{.*}}, %c32_i32
// ROLES-LABEL: llvm.func @rows
func.func @rows(%pool: memref<?x?x2x128xbf16>, %table: memref<?x?xi32>, %o: memref<?x64xf32>, %end: i32, %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel pages : !tile
  %m = fagpu.mail : !mail
  // The lanes run it, and one of them what a thread does.
  // ROLES: nvvm.setmaxregister decrease 40
  // ROLES-NOT: nvvm.elect.sync
  // ROLES: nvvm.cp.async.mbarrier.arrive
  // NVVM: fagpu.role @load
  fagpu.role @load groups(1) regs(40) elect {
    // NVVM: scf.if
    // NVVM:   llvm.atomicrmw add
    // NVVM: nvvm.shfl.sync idx
    %t = fagpu.ticket %counter : memref<2xi32>
    fagpu.send %m, %t : !mail
    // The table is read before the stage is waited for: a row for each lane, twice.
    // NVVM: arith.divui
    // NVVM-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> i32
    // NVVM-NOT: llvm.load
    // NVVM: mbarrier.try_wait
    // NVVM: %[[OUTSIDE:.*]] = llvm.mlir.addressof @fagpu_outside_128_bf16_nan
    // Four rows at once, in two panels.
    // NVVM-COUNT-32: cp.async.cg.shared.global [$0], [$1], 16;
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

// CHECK-LABEL: func.func @fetch
// CHECK: fagpu.fetch %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] [1, 1, 64, 128] pages(%{{.*}} : memref<3x?xi32> at 0) rows(%{{.*}}) : memref<?x2x4x128xbf16> -> tensor<64x128xbf16>
func.func @fetch(%pool: memref<?x2x4x128xbf16>, %table: memref<3x?xi32>, %n: i32) {
  %x = fagpu.fetch %pool[%n, %n, %n, %n] [1, 1, 64, 128] pages(%table : memref<3x?xi32> at 0) rows(%n) : memref<?x2x4x128xbf16> -> tensor<64x128xbf16>
  return
}
