// RUN: fa-opt %s -fagpu-split-products -cse -fagpu-share-operands | FileCheck %s

!mem = memref<?x?x?x64xf32>
!s = tensor<64x64xf32>

// With common stages values are loaded behind the product that reads the keys,
// and written where these were.
// CHECK-LABEL: func.func @common
// CHECK-COUNT-6: fagpu.channel
// CHECK-NOT: fagpu.channel
// CHECK: fagpu.for
// CHECK: fagpu.gather
// CHECK: fagpu.write %[[C0:[a-z0-9_]+]],
// CHECK: fagpu.write %[[C1:[a-z0-9_]+]],
// CHECK: fagpu.write %[[C2:[a-z0-9_]+]],
// CHECK-COUNT-6: fagpu.product nt
// CHECK: fagpu.gather
// CHECK: fagpu.write %[[C0]],
// CHECK: fagpu.write %[[C1]],
// CHECK: fagpu.write %[[C2]],
// CHECK-COUNT-6: fagpu.product nn
func.func @common(%k: !mem, %v: !mem, %x: !s, %n: i32)
    attributes {fagpu.kernel = "sm_80",
                fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages>>>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  fagpu.role @compute groups(1) {
    %q = arith.addf %x, %x : !s
    %r = fagpu.for %i = %n step -1 segments(%all: to %c0) iter(%o = %x) -> (!s) {
      %at = arith.muli %i, %c64 : i32
      %keys = fagpu.fetch %k[%c0, %at, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> !s
      %values = fagpu.fetch %v[%c0, %at, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> !s
      %s = fagpu.product nt %q, %keys : !s, !s -> !s
      %p = math.exp2 %s : !s
      %sum = fagpu.product nn %p, %values acc(%o : !s) : !s, !s -> !s
      fagpu.yield %sum : !s
    }
    %use = arith.addf %r, %r : !s
  }
  return
}
