// RUN: fa-opt %s -fagpu-assign-waits -split-input-file -verify-diagnostics

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @nested(%q: !qv, %k: !kv, %c: i1) {
  %sf = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!acc>
  scf.if %c {
    // expected-error @below {{'fagpu.mma_async' op is issued inside control flow between another product and its 'fagpu.wait', so how many are in flight there is not known}}
    %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!acc>
    %x = fagpu.wait %f : !fagpu.inflight<!acc>
  }
  // expected-note @below {{the wait is here}}
  %s = fagpu.wait %sf : !fagpu.inflight<!acc>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
func.func @argument(%f: !fagpu.inflight<!acc>) {
  // expected-error @below {{'fagpu.wait' op waits for a value that no 'fagpu.mma_async' of its block has made}}
  %x = fagpu.wait %f : !fagpu.inflight<!acc>
  return
}
