// An exponential that is to be computed while a product is in flight is moved behind
// its wait, to the branch that needs it, unless what uses it is pinned.

// RUN: fa-opt %s --pass-pipeline="builtin.module(fagpu-to-llvm)" -o %t.mlir
// RUN: mlir-translate --mlir-to-llvmir %t.mlir -o %t.ll
// RUN: %llc -O3 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx86 %t.ll -o - | FileCheck %s --check-prefix=MOVED
// RUN: sed 's|// PINNED|{fagpu.pinned}|' %s | fa-opt --pass-pipeline="builtin.module(fagpu-to-llvm)" -o %t.pinned.mlir
// RUN: mlir-translate --mlir-to-llvmir %t.pinned.mlir -o %t.pinned.ll
// RUN: %llc -O3 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx86 %t.pinned.ll -o - | FileCheck %s --check-prefix=KEPT

// MOVED-NOT: ex2.approx
// MOVED: wgmma.wait_group.sync.aligned 0
// MOVED: ex2.approx

// KEPT: wgmma.commit_group
// KEPT: ex2.approx
// KEPT: wgmma.wait_group.sync.aligned 0

!kv = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!mem = memref<?x64xbf16>
!out = memref<?xf32>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
func.func @kernel(%k: !mem, %x: !out, %y: !out, %more: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !kv
  fagpu.role @load groups(1) regs(24) elect {
    fagpu.put %keys, %k[%c0, %c0] [64, 64] : !mem into !kv
  }
  fagpu.role @math groups(1) regs(232) {
    %in = fagpu.gather %x[%c0] : !out[i32] -> !row
    %v = fagpu.acquire %keys : !kv
    %f = fagpu.mma_async nt %v, %v : !view, !view -> !fagpu.inflight<!acc>
    %e = math.exp2 %in fastmath<afn> : !row
    %n = arith.negf %e // PINNED
      : !row
    %p = fagpu.wait %f : !fagpu.inflight<!acc>
    fagpu.release %v : !view
    %max = fagpu.reduce max %p : !acc -> !row
    fagpu.store %max, %x[%c0] : !row into !out
    %again = arith.cmpi sgt, %more, %c0 : i32
    scf.if %again {
      fagpu.store %n, %y[%c0] : !row into !out
    }
  }
  return
}
