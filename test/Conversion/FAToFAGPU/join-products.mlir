// RUN: fa-opt %s -fagpu-join-products | FileCheck %s

!q = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!qc = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = tensor<64x64xbf16>
!s = tensor<64x64xf32>

// Products with operands in common, and the addition behind them; what they
// read is released later.
// CHECK-LABEL: func.func @join
// CHECK-SAME: %[[P0:.*]]: tensor<64x64xbf16>, %[[P1:.*]]: tensor<64x64xbf16>, %[[X:.*]]: tensor<64x64xf32>
func.func @join(%p0: !p, %p1: !p, %x: !s) attributes {fagpu.kernel = "sm_80"} {
  %c = fagpu.channel cp_async : !qc
  %d = fagpu.channel cp_async : !qc
  fagpu.role @compute groups(1) {
    // CHECK: %[[K0:.*]] = fagpu.acquire
    // CHECK: %[[K1:.*]] = fagpu.acquire
    %k0 = fagpu.acquire %c : !qc
    %k1 = fagpu.acquire %d : !qc
    // CHECK-NEXT: %[[S:.*]] = fagpu.mma_sum nn[%[[P1]], %[[P0]]], [%[[K0]], %[[K1]]] pairs [0, 1, 1], [0, 1, 0] acc(%[[X]] : tensor<64x64xf32>)
    // CHECK-NEXT: fagpu.release %[[K1]]
    // CHECK-NEXT: fagpu.release %[[K0]]
    // CHECK-NEXT: arith.mulf %[[S]], %[[S]]
    %a = fagpu.mma nn %p1, %k0 : !p, !q -> !s
    %b = fagpu.mma nn %p0, %k1 acc(%a : !s) : !p, !q -> !s
    fagpu.release %k1 : !q
    %e = fagpu.mma nn %p0, %k0 acc(%b : !s) : !p, !q -> !s
    fagpu.release %k0 : !q
    %sum = arith.addf %x, %e : !s
    %use = arith.mulf %sum, %sum : !s
  }
  return
}

// A sum with another use, one of other forms, one without a common operand, and
// one with slots.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: fagpu.mma_sum
// CHECK: return
func.func @kept(%p0: !p, %p1: !p, %k0: !q, %k1: !q) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    %a = fagpu.mma nn %p0, %k0 : !p, !q -> !s
    %b = fagpu.mma nn %p0, %k1 acc(%a : !s) : !p, !q -> !s
    %use = arith.mulf %a, %b : !s
    %c = fagpu.mma nn %p0, %k0 : !p, !q -> !s
    %d = fagpu.mma nt %p0, %k0 acc(%c : !s) : !p, !q -> !s
    %e = fagpu.mma nn %p0, %k0 : !p, !q -> !s
    %f = fagpu.mma nn %p1, %k1 acc(%e : !s) : !p, !q -> !s
    %g = fagpu.mma nn %p0, %k0 {fagpu.at = [0, 1]} : !p, !q -> !s
    %h = fagpu.mma nn %p0, %k1 acc(%g : !s) {fagpu.at = [0, 2]} : !p, !q -> !s
  }
  return
}

// What is there before joins where the sum stands; what comes behind a stage
// that is filled again does not.
// CHECK-LABEL: func.func @filled_again
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<64x64xf32>)
func.func @filled_again(%p0: !p, %p1: !p, %x: !s) attributes {fagpu.kernel = "sm_80"} {
  %c = fagpu.channel cp_async : !qc
  fagpu.role @compute groups(1) {
    fagpu.write %c, %p0 : !p into !qc
    // CHECK: %[[K0:.*]] = fagpu.acquire
    // CHECK-NEXT: fagpu.mma_sum nn[{{.*}}], [%[[K0]]] {{.*}} acc(%[[X]] : tensor<64x64xf32>)
    // CHECK-NEXT: fagpu.release %[[K0]]
    // CHECK: fagpu.write
    %k0 = fagpu.acquire %c : !qc
    %a = fagpu.mma nn %p1, %k0 : !p, !q -> !s
    %b = fagpu.mma nn %p0, %k0 acc(%a : !s) : !p, !q -> !s
    fagpu.release %k0 : !q
    fagpu.write %c, %p1 : !p into !qc
    %first = arith.addf %b, %x : !s
    // CHECK: %[[K1:.*]] = fagpu.acquire
    // CHECK-NEXT: %[[SUM:.*]] = fagpu.mma_sum nn[{{.*}}], [%[[K1]]] pairs [0, 1], [0, 0] :
    // CHECK-NEXT: fagpu.release %[[K1]]
    // CHECK-NEXT: fagpu.write
    // CHECK-NEXT: %[[Y:.*]] = arith.mulf
    // CHECK-NEXT: arith.addf %[[SUM]], %[[Y]]
    %k1 = fagpu.acquire %c : !qc
    %d = fagpu.mma nn %p1, %k1 : !p, !q -> !s
    %e = fagpu.mma nn %p0, %k1 acc(%d : !s) : !p, !q -> !s
    fagpu.release %k1 : !q
    fagpu.write %c, %p0 : !p into !qc
    %y = arith.mulf %first, %x : !s
    %second = arith.addf %e, %y : !s
    %use = arith.mulf %second, %second : !s
  }
  return
}

// Nor does what comes behind a loop that fills it again, or behind a wait until
// it is full again; products on both sides of that are no sum either.
// CHECK-LABEL: func.func @nested
func.func @nested(%p0: !p, %p1: !p, %x: !s, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c = fagpu.channel cp_async : !qc
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.write
    // CHECK-NEXT: %[[K1:.*]] = fagpu.acquire
    // CHECK-NEXT: %[[SUM:.*]] = fagpu.mma_sum nn[{{.*}}], [%[[K1]]] pairs [0, 1], [0, 0] :
    // CHECK-NEXT: fagpu.release %[[K1]]
    // CHECK-NEXT: fagpu.for
    // CHECK: %[[Y:.*]] = arith.mulf
    // CHECK-NEXT: arith.addf %[[SUM]], %[[Y]]
    fagpu.write %c, %p0 : !p into !qc
    %k1 = fagpu.acquire %c : !qc
    %d = fagpu.mma nn %p1, %k1 : !p, !q -> !s
    %e = fagpu.mma nn %p0, %k1 acc(%d : !s) : !p, !q -> !s
    fagpu.release %k1 : !q
    fagpu.for %i = %c0 step 1 segments(%all: to %n) {
      fagpu.write %c, %p0 : !p into !qc
      %k2 = fagpu.acquire %c : !qc
      fagpu.release %k2 : !q
      fagpu.yield
    }
    %y = arith.mulf %x, %x : !s
    %second = arith.addf %e, %y : !s
    %use = arith.mulf %second, %second : !s
  }
  return
}

// CHECK-LABEL: func.func @waited
func.func @waited(%m: memref<64x64xbf16>, %p0: !p, %p1: !p, %x: !s) attributes {fagpu.kernel = "sm_90a"} {
  %c = fagpu.channel tma : !qc
  %c0 = arith.constant 0 : i32
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !qc
    fagpu.put %c, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !qc
    fagpu.put %c, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !qc
  }
  fagpu.role @compute groups(1) {
    // CHECK: %[[K0:.*]] = fagpu.acquire
    // CHECK-NEXT: %[[SUM:.*]] = fagpu.mma_sum nn[{{.*}}], [%[[K0]]] pairs [0, 1], [0, 0] :
    // CHECK-NEXT: fagpu.release %[[K0]]
    %k0 = fagpu.acquire %c : !qc
    %d = fagpu.mma nn %p1, %k0 : !p, !q -> !s
    %e = fagpu.mma nn %p0, %k0 acc(%d : !s) : !p, !q -> !s
    fagpu.release %k0 : !q
    // CHECK-NEXT: %[[K1:.*]] = fagpu.acquire
    // CHECK: arith.addf %[[SUM]], %{{.*}}
    %k1 = fagpu.acquire %c : !qc
    %y = arith.mulf %x, %x : !s
    %second = arith.addf %e, %y : !s
    // CHECK: %[[F:.*]] = fagpu.mma nn %{{.*}}, %[[K1]]
    // CHECK-NEXT: fagpu.release %[[K1]]
    // CHECK-NEXT: %[[K2:.*]] = fagpu.acquire
    // CHECK-NEXT: fagpu.mma nn %{{.*}}, %[[K2]] acc(%[[F]]
    %f = fagpu.mma nn %p0, %k1 : !p, !q -> !s
    fagpu.release %k1 : !q
    %k2 = fagpu.acquire %c : !qc
    %g = fagpu.mma nn %p0, %k2 acc(%f : !s) : !p, !q -> !s
    fagpu.release %k2 : !q
    %use = arith.mulf %second, %g : !s
  }
  return
}
