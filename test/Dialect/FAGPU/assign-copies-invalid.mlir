// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies))" -split-input-file -verify-diagnostics

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @never_put() attributes {fagpu.kernel = "sm_80"} {
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // expected-error @below {{'fagpu.acquire' op acquires a stage that no 'fagpu.put' of its role before it has filled}}
    %a = fagpu.acquire %k : !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @in_use(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    // expected-error @below {{'fagpu.put' op fills a stage while all 1 of its channel are in use; release one before}}
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @one_thread(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies by the threads of the role @all, which is one thread (elect); expected groups of warps}}
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @groups(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(2) {
    // expected-error @below {{'fagpu.put' op fills 4096 of the 4096 elements of a stage in each of the 2 groups of the role @all; expected a part(...) of 2048 elements, or of a number that divides them}}
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @bank_of_groups(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async banks(2) : !tile
  fagpu.role @all groups(2) {
    // expected-error @below {{'fagpu.put' op names a bank in the role @all, whose 2 groups fill a stage together; expected no bank}}
    fagpu.put %k bank(%c0), %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @banks(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async banks(2) : !tile
  fagpu.role @all groups(1) {
    // expected-error @below {{'fagpu.put' op names a bank that is no constant of a channel that threads copy to, so its copies are not counted; expected a constant}}
    fagpu.put %k bank(%n), %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @other_bank(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = fagpu.channel cp_async banks(2) : !tile
  fagpu.role @all groups(1) {
    fagpu.put %k bank(%c0), %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    // expected-error @below {{'fagpu.acquire' op acquires a stage that no 'fagpu.put' of its role before it has filled}}
    %v = fagpu.acquire %k bank(%c1) : !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @part(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    fagpu.put %k part(%c0, %c0), %m[%c0, %c0] [32, 64] rows(%n) : !m into !tile
    // expected-error @below {{'fagpu.acquire' op acquires a stage that no 'fagpu.put' of its role before it has filled}}
    %v = fagpu.acquire %k : !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x64xbf16>
func.func @growing(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // expected-error @below {{'scf.for' op has other copies in flight at the end of its body than on entry, so how many are there is not known}}
    scf.for %i = %c0 to %n step %c1 : i32 {
      fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    }
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x64xbf16>
func.func @one_branch(%m: !m, %n: i32, %c: i1) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // expected-error @below {{'scf.if' op has other copies in flight at the end of one branch than of the other, so how many are there is not known}}
    scf.if %c {
      fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    }
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!m = memref<?x64xbf16>
func.func @staged(%m: !m, %n: i32, %x: !half) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  %s = fagpu.channel threads over(%k : !tile) : !tile
  fagpu.role @all groups(1) {
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %a = fagpu.acquire %k : !tile
    // expected-error @below {{'fagpu.store' op is staged over a channel of which 1 stages are in use; release them before}}
    fagpu.store %x, %m[%c0, %c0] rows(%n) via(%s : !tile) : !half into !m
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x64xbf16>
func.func @not_pipelined(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // expected-error @below {{'fagpu.for' op holds copies in flight; run fagpu-pipeline before}}
    fagpu.for %i = %n step -1 segments(%all: to %c0) {
      fagpu.put %k, %m[%i, %c0] [64, 64] rows(%n) : !m into !tile
      %a = fagpu.acquire %k : !tile
      fagpu.release %a : !view
      fagpu.yield
    }
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x64xbf16>
func.func @unknown_view(%m: !m, %n: i32, %v: !view) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    // expected-error @below {{'fagpu.release' op releases a view that comes from no 'fagpu.acquire' of its block}}
    fagpu.release %v : !view
  }
  return
}

// -----

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @written_part(%x: tensor<64x32xbf16, #fagpu.acc<4>>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // expected-error @below {{'fagpu.write' op writes to a part(...) of a stage that threads copy to, expected all of it}}
    fagpu.write %k part(%c0, %c0), %x : tensor<64x32xbf16, #fagpu.acc<4>> into !tile
  }
  return
}
