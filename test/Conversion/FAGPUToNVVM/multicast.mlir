// RUN: split-file %s %t
// RUN: fa-opt %t/shared.mlir --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" | FileCheck %t/shared.mlir
// RUN: fa-opt %t/shared.mlir --pass-pipeline="builtin.module(fagpu-to-llvm)" | FileCheck %t/shared.mlir --check-prefix=LLVM
// RUN: fa-opt %t/carried.mlir --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" -verify-diagnostics
// RUN: fa-opt %t/elected.mlir --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" -verify-diagnostics

//--- shared.mlir
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!acc = tensor<64x64xf32, #fagpu.acc<4>>

// Each of two blocks copies 32 of 64 rows to both, and waits for all bytes. The
// tiles of 8 KiB lie first, the barriers behind them.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: box = [32, 64]
// Groups of both blocks release a stage: twice one group.
// CHECK: nvvm.mbarrier.init %{{.*}}, %[[ONE:.*]] : !llvm.ptr<3>, i32
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: fagpu.role @load
// CHECK: %[[BYTES:.*]] = arith.constant 8192 : i32
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]]
// CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
// CHECK: arith.constant 4096 : i32
// CHECK: %[[MASK:.*]] = arith.constant 3 : i16
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} multicast_mask = %[[MASK]]
// CHECK: fagpu.role @math
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: arith.cmpi ult, %{{.*}}, %[[TWO]]
// CHECK: mapa.shared::cluster.u32
// CHECK-SAME: mbarrier.arrive.shared::cluster.b64
// LLVM: nvvm.cluster_dim = array<i32: 2, 1, 1>
// No block leaves before the other one.
// LLVM: llvm.inline_asm{{.*}}mapa.shared::cluster.u32
// LLVM: nvvm.cluster.arrive
// LLVM-NEXT: nvvm.cluster.wait
// LLVM-NEXT: llvm.return
func.func @shared(%key: memref<?x64xbf16>, %out: memref<?x64xf32>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0] [64, 64] : memref<?x64xbf16> into !k
  }
  fagpu.role @math(%g) groups(1) {
    %view = fagpu.acquire %keys : !k
    %f = fagpu.mma_async nt %view, %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !fagpu.inflight<!acc>
    %s = fagpu.wait %f pending(0) : !fagpu.inflight<!acc>
    fagpu.release %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    fagpu.store %s, %out[%c0, %c0] : !acc into memref<?x64xf32>
  }
  return
}

//--- carried.mlir
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @carried(%key: memref<?x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %keys = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0] [64, 64] : memref<?x64xbf16> into !k
  }
  fagpu.role @math(%g) groups(1) {
    // expected-error @below {{'fagpu.acquire' op acquires a stage that all blocks of a cluster fill and that is released in another iteration, expected 'fagpu.release' in the same block}}
    %view = fagpu.acquire %keys : !k
    %last = scf.for %i = %c0 to %c1 step %c1 iter_args(%held = %view) -> (!v) : i32 {
      scf.yield %held : !v
    }
    fagpu.release %last : !v
  }
  return
}

//--- elected.mlir
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
func.func @elected(%key: memref<?x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0] [64, 64] : memref<?x64xbf16> into !k
  }
  fagpu.role @drop groups(1) elect {
    // expected-error @below {{'fagpu.acquire' op acquires a stage that all blocks of a cluster fill in a role of one thread, expected warps}}
    %view = fagpu.acquire %keys : !k
    fagpu.release %view : !v
  }
  return
}
