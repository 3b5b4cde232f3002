// RUN: fa-opt %s -fagpu-share-operands | FileCheck %s

!h = tensor<64x64xbf16>
!s = tensor<64x64xf32>

// Second operands, and a first one from before the loop, are written; what is
// there before the first product is acquired together.
// CHECK-LABEL: func.func @share
// CHECK: fagpu.role @compute
func.func @share(%n: i32, %x: !s) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // CHECK: %[[Q:.*]] = arith.truncf
    // CHECK-NEXT: fagpu.write %[[QCHANNEL:.*]], %[[Q]]
    // CHECK-NEXT: %[[QVIEW:.*]] = fagpu.acquire %[[QCHANNEL]]
    // CHECK: fagpu.for
    %q = arith.truncf %x : !s to !h
    %o = fagpu.for %i = %n step -1 segments(%all: to %c0) iter(%acc = %x) -> (!s) {
      // CHECK: %[[K0:.*]] = arith.truncf
      // CHECK-NEXT: fagpu.write %[[C0:.*]], %[[K0]]
      // CHECK: %[[K1:.*]] = arith.truncf
      // CHECK-NEXT: fagpu.write %[[C1:.*]], %[[K1]]
      // CHECK: %[[A:.*]] = fagpu.acquire %[[C1]]
      // CHECK-NEXT: %[[B:.*]] = fagpu.acquire %[[C0]]
      // CHECK-NEXT: %[[S:.*]] = fagpu.product nt %[[QVIEW]], %[[A]] :
      // CHECK-NEXT: fagpu.release %[[A]]
      // CHECK-NEXT: %[[T:.*]] = fagpu.product nt %[[QVIEW]], %[[B]] acc(%[[S]]
      %k0 = arith.truncf %acc : !s to !h
      %r = arith.addf %acc, %acc : !s
      %k1 = arith.truncf %r : !s to !h
      %s = fagpu.product nt %q, %k1 : !h, !h -> !s
      %t = fagpu.product nt %q, %k0 acc(%s : !s) : !h, !h -> !s
      // A first operand of the same block stays in registers; one of a later
      // second operand is acquired later.
      // CHECK: %[[P:.*]] = arith.truncf %[[T]]
      // CHECK-NEXT: fagpu.write %[[C2:.*]], %[[P]]
      // CHECK-NEXT: %[[PVIEW:.*]] = fagpu.acquire %[[C2]]
      // CHECK-NEXT: fagpu.product nn %[[P]], %[[PVIEW]]
      // CHECK-NEXT: fagpu.release %[[PVIEW]]
      // CHECK: fagpu.product nn %{{.*}}, %[[B]]
      // CHECK-NEXT: fagpu.release %[[B]]
      %p = arith.truncf %t : !s to !h
      %u = fagpu.product nn %p, %p : !h, !h -> !s
      %w = fagpu.product nn %p, %k0 acc(%u : !s) : !h, !h -> !s
      fagpu.yield %w : !s
    }
    // CHECK: fagpu.release %[[QVIEW]]
  }
  return
}

// Fetched operands are copied, not written, and views are there already.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: fagpu.channel
// CHECK-NOT: fagpu.write
func.func @kept(%m: memref<?x?x?x64xbf16>, %q: !h) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %k = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] : memref<?x?x?x64xbf16> -> !h
    %s = fagpu.product nt %q, %k : !h, !h -> !s
    %use = arith.addf %s, %s : !s
  }
  return
}
