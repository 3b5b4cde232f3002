// RUN: fa-opt %s -fagpu-assign-stages -split-input-file -verify-diagnostics

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @bank_out_of_turn(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %q = fagpu.channel tma banks(2) : !q
  fagpu.role @copy groups(1) elect {
    // expected-error @below {{'fagpu.put' op fills bank 1, but bank 0 is not filled just before it in its block}}
    fagpu.put %q bank(%c1), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !q
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @no_such_bank(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %q = fagpu.channel tma banks(2) : !q
  fagpu.role @copy groups(1) elect {
    // expected-error @below {{'fagpu.put' op fills bank 2 of a channel that has 2}}
    fagpu.put %q bank(%c2), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !q
  }
  return
}
