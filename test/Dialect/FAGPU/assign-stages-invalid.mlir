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

// -----

!tile = !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
!x = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @part_of_a_loop(%x: !x) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %ch = fagpu.channel threads : !tile
  fagpu.role @math groups(1) {
    scf.for %i = %c0 to %c2 step %c1 : i32 {
      %row = arith.muli %i, %c64 : i32
      // expected-error @below {{'fagpu.write' op writes part 0 of 2 of a stage, expected the next part of that size behind it in its block}}
      fagpu.write %ch part(%row, %c0), %x : !x into !tile
    }
  }
  return
}

// -----

!tile = !fagpu.channel<256x64xbf16, #fagpu.smem<128>, 1>
!x = tensor<64x64xbf16, #fagpu.acc<4>>
!y = tensor<128x64xbf16, #fagpu.acc<4>>
func.func @parts_of_other_sizes(%x: !x, %y: !y) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %c192 = arith.constant 192 : i32
  %ch = fagpu.channel threads : !tile
  fagpu.role @math groups(1) {
    // expected-error @below {{'fagpu.write' op writes part 0 of 2 of a stage}}
    fagpu.write %ch part(%c0, %c0), %y : !y into !tile
    fagpu.write %ch part(%c128, %c0), %x : !x into !tile
    fagpu.write %ch part(%c192, %c0), %x : !x into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
!x = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @parts_of_two_banks(%x: !x) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %ch = fagpu.channel threads banks(2) : !tile
  fagpu.role @math groups(1) {
    // expected-error @below {{'fagpu.write' op writes part 0 of 2 of a stage}}
    fagpu.write %ch bank(%c0) part(%c0, %c0), %x : !x into !tile
    fagpu.write %ch bank(%c1) part(%c0, %c0), %x : !x into !tile
    fagpu.write %ch bank(%c0) part(%c64, %c0), %x : !x into !tile
    fagpu.write %ch bank(%c1) part(%c64, %c0), %x : !x into !tile
  }
  return
}
