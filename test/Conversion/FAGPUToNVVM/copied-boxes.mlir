// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Threads copy boxes of several dimensions, to parts of stages and to banks.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<?x64xbf16>

// Row r of the tile is head r mod 8 of token r / 8; tokens are bounded.
// CHECK-LABEL: func.func @dimensions(
// CHECK-SAME: %{{[^:]+}}: !llvm.ptr<1>, %{{[^:]+}}: i64, %[[TOKEN:[^:]+]]: i64, %[[HEAD:[^:]+]]: i64, %{{[^:]+}}: !llvm.ptr<1>, %[[N:[^:]+]]: i32)
func.func @dimensions(%m: !m, %f: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @all groups(1) {
    // CHECK: %[[IN:.*]] = arith.remui %[[ROW:.*]], %c8_i32
    // CHECK: %[[OUT:.*]] = arith.divui %[[ROW]], %c8_i32
    // CHECK: %[[WIDE:.*]] = arith.extsi %[[IN]] : i32 to i64
    // CHECK: arith.muli %[[WIDE]], %[[HEAD]]
    // CHECK: %[[FAR:.*]] = arith.extsi %[[OUT]] : i32 to i64
    // CHECK: arith.muli %[[FAR]], %[[TOKEN]]
    // CHECK: %[[PAST:.*]] = arith.cmpi sge, %[[OUT]], %[[N]]
    // CHECK: cp.async.cg.shared.global{{.*}}, %[[PAST]] :
    fagpu.put %t, %m[%c0, %c0, %c0, %c0] [1, 8, 8, 64] rows(%n) : !m into !t
    %v = fagpu.acquire %t : !t
    %x = fagpu.mma nt %v, %v : !v, !v -> !acc
    fagpu.release %v : !v
    fagpu.store %x, %f[%c0, %c0] : !acc into memref<?x64xf32>
  }
  return
}

// Rows without a bound end with their dimension, whose size is a parameter. The
// second bank is a tile on, its second part 32 rows of 128 bytes on.
// CHECK-LABEL: func.func @banks_and_parts(
// CHECK-SAME: %[[SIZE:[^:]+]]: i64, %{{[^:]+}}: !llvm.ptr<1>, %{{[^:]+}}: !llvm.ptr<1>)
// CHECK-SAME: {argument = 0 : i64, dim = 0 : i64, kind = "size"}
func.func @banks_and_parts(%k: !k, %f: memref<?x64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %t = fagpu.channel cp_async banks(2) : !t
  fagpu.role @all groups(1) {
    // CHECK: %[[LEAST:.*]] = arith.minsi %[[SIZE]], %c2147483647_i64
    // CHECK: arith.trunci %[[LEAST]] : i64 to i32
    // CHECK-COUNT-4: cp.async.cg.shared.global
    // CHECK: nvvm.cp.async.commit.group
    fagpu.put %t bank(%c0), %k[%c0, %c0] [64, 64] : !k into !t
    // CHECK: llvm.getelementptr %{{.*}}[8192] : (!llvm.ptr<3>)
    // CHECK-COUNT-2: cp.async.cg.shared.global
    // CHECK: nvvm.cp.async.commit.group
    // CHECK: llvm.getelementptr %{{.*}}[12288] : (!llvm.ptr<3>)
    // CHECK-COUNT-2: cp.async.cg.shared.global
    // CHECK: nvvm.cp.async.commit.group
    fagpu.put %t bank(%c1) part(%c0, %c0), %k[%c32, %c0] [32, 64] : !k into !t
    fagpu.put %t bank(%c1) part(%c32, %c0), %k[%c0, %c0] [32, 64] : !k into !t
    // CHECK: nvvm.cp.async.wait.group 2
    %v = fagpu.acquire %t bank(%c0) : !t
    // CHECK: nvvm.cp.async.wait.group 0
    %w = fagpu.acquire %t bank(%c1) : !t
    %x = fagpu.mma nt %v, %w : !v, !v -> !acc
    fagpu.release %v : !v
    fagpu.release %w : !v
    fagpu.store %x, %f[%c0, %c0] : !acc into memref<?x64xf32>
  }
  return
}

// Threads without a row of the box copy nothing.
// CHECK-LABEL: func.func @few_rows(
func.func @few_rows(%k: !k, %f: memref<?x8xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  %u = fagpu.channel cp_async : !fagpu.channel<8x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @all groups(1) {
    // CHECK: cp.async.cg.shared.global [$0], [$1], 16, $2;", "l,l,b,~{memory}"
    // CHECK: %[[HAS:.*]] = arith.cmpi slt, %{{.*}}, %c8_i32
    // CHECK: "@$3 cp.async.cg.shared.global {{.*}} %[[HAS]] :
    fagpu.put %t, %k[%c0, %c0] [64, 64] rows(%n) : !k into !t
    fagpu.put %u, %k[%c0, %c0] [8, 64] rows(%n) : !k into !fagpu.channel<8x64xbf16, #fagpu.smem<128>, 1>
    %v = fagpu.acquire %t : !t
    %w = fagpu.acquire %u : !fagpu.channel<8x64xbf16, #fagpu.smem<128>, 1>
    fagpu.release %v : !v
    fagpu.release %w : !fagpu.view<8x64xbf16, #fagpu.smem<128>>
  }
  return
}

// 128 threads copy 64 rows of 32 bytes at once; of 96, half of them copy the rest.
// CHECK-LABEL: func.func @last_rows(
func.func @last_rows(%k: memref<?x16xbf16>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !fagpu.channel<96x16xbf16, #fagpu.smem<32>, 1>
  fagpu.role @all groups(1) {
    // CHECK: "cp.async.cg.shared.global
    // CHECK: %[[HAS:.*]] = arith.cmpi slt, %{{.*}}, %c32_i32
    // CHECK: "@$3 cp.async.cg.shared.global {{.*}} %[[HAS]] :
    fagpu.put %t, %k[%c0, %c0] [96, 16] rows(%n) : memref<?x16xbf16> into !fagpu.channel<96x16xbf16, #fagpu.smem<32>, 1>
    %v = fagpu.acquire %t : !fagpu.channel<96x16xbf16, #fagpu.smem<32>, 1>
    fagpu.release %v : !fagpu.view<96x16xbf16, #fagpu.smem<32>>
  }
  return
}
