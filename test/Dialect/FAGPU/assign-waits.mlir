// RUN: fa-opt %s -fagpu-assign-waits | FileCheck %s

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>

// CHECK-LABEL: func.func @two_in_flight
func.func @two_in_flight(%q: !qv, %k: !kv, %v: !kv, %p: !p, %o: !acc) -> (!acc, !acc) {
  // CHECK: %[[S:.*]] = fagpu.mma_async nt
  // CHECK: %[[O:.*]] = fagpu.mma_async nn
  %sf = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!acc>
  %of = fagpu.mma_async nn %p, %v acc(%o : !acc) : !p, !kv -> !fagpu.inflight<!acc keeps !p>
  // CHECK: fagpu.wait %[[S]] pending(1)
  %s = fagpu.wait %sf : !fagpu.inflight<!acc>
  // CHECK: fagpu.wait %[[O]] pending(0)
  %o1 = fagpu.wait %of : !fagpu.inflight<!acc keeps !p>
  return %s, %o1 : !acc, !acc
}

// What a loop issues and awaits itself does not count for what is outside.
// CHECK-LABEL: func.func @around_a_loop
func.func @around_a_loop(%q: !qv, %k: !kv, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sf = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!acc>
  // CHECK: fagpu.wait %{{.*}} pending(0)
  %s = fagpu.wait %sf : !fagpu.inflight<!acc>
  scf.for %i = %c0 to %n step %c1 {
    %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!acc>
    // CHECK: fagpu.wait %{{.*}} pending(0)
    %x = fagpu.wait %f : !fagpu.inflight<!acc>
  }
  return
}
