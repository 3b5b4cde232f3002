// The blocks of a cluster put the same boxes into channels that they share.

// RUN: split-file %s %t
// RUN: not fa-run %t/box.mlir --target=interpret --as-written --seed=1 --grid=2 2>&1 | FileCheck %t/box.mlir --implicit-check-not=error:
// RUN: not fa-run %t/alone.mlir --target=interpret --as-written --seed=1 --grid=2 2>&1 | FileCheck %t/alone.mlir --implicit-check-not=error:
// RUN: not fa-run %t/same.mlir --target=interpret --as-written --seed=1 --grid=3 2>&1 | FileCheck %t/same.mlir --check-prefix=ODD --implicit-check-not=error:
// RUN: fa-run %t/same.mlir --target=interpret --as-written --seed=1 --grid=4 2>&1 | FileCheck %t/same.mlir --implicit-check-not=error:

//--- box.mlir
// CHECK: error: 'fagpu.put' op puts the box at [{{0|1}}, 0, 0] up to row 64 into use 0 of a channel of its cluster, but block {{0|1}} puts the one at [{{0|1}}, 0, 0] up to row 64
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<2x64x64xbf16>
func.func @f(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %keys = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%block, %c0, %c0] [1, 64, 64] : !m into !k
  }
  fagpu.role @math(%g) groups(1) {
    %view = fagpu.acquire %keys : !k
    fagpu.release %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
  }
  return
}

//--- alone.mlir
// CHECK: error: 'fagpu.put' op puts use 0 of a channel of its cluster in 1 of 2 blocks, expected it in all of them; the first is block 0
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<2x64x64xbf16>
func.func @f(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %isFirst = arith.cmpi eq, %block, %c0 : i32
  %keys = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    scf.if %isFirst {
      fagpu.put %keys, %key[%c0, %c0, %c0] [1, 64, 64] : !m into !k
    }
  }
  fagpu.role @math(%g) groups(1) {
    scf.if %isFirst {
      %view = fagpu.acquire %keys : !k
      fagpu.release %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    }
  }
  return
}

//--- same.mlir
// CHECK: target interpret
// ODD: error: {{.*}}has a grid of 3 blocks along x, expected a multiple of 2, the blocks of a cluster
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<2x64x64xbf16>
func.func @f(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %cluster = arith.divui %block, %c2 : i32
  %keys = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%cluster, %c0, %c0] [1, 64, 64] : !m into !k
  }
  fagpu.role @math(%g) groups(1) {
    %view = fagpu.acquire %keys : !k
    fagpu.release %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
  }
  return
}
