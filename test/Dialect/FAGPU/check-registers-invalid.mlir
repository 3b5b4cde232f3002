// RUN: fa-opt %s -pass-pipeline='builtin.module(func.func(fagpu-check))' -split-input-file -verify-diagnostics

!x = tensor<64x128xf32, #fagpu.acc<4>>
!half = tensor<64x128xbf16, #fagpu.acc<4>>
func.func @too_many(%m: memref<?x?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) regs(160) {
    %a = fagpu.gather %m[%c0, %c0] : memref<?x?xf32>[i32, i32] -> !x
    %b = fagpu.gather %m[%c0, %c0] : memref<?x?xf32>[i32, i32] -> !x
    // expected-error @below {{'fagpu.gather' op is where block values take 192 registers of a thread in @a, which has 160 by regs(160); expected at least regs(192), or smaller tiles}}
    %c = fagpu.gather %m[%c0, %c0] : memref<?x?xf32>[i32, i32] -> !x
    %ab = arith.addf %a, %b : !x
    %abc = arith.addf %ab, %c : !x
    fagpu.store %abc, %m[%c0, %c0] : !x into memref<?x?xf32>
  }
  return
}

// -----

// Without regs(...), threads share the registers of a multiprocessor. What is
// live behind a loop is live in it.
!x = tensor<128x128xf32, #fagpu.acc<4>>
func.func @share(%m: memref<?x?xf32>, %n: i32) attributes {fagpu.kernel = "sm_80", fagpu.blocks_per_sm = 4} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  fagpu.role @a groups(1) {
    %a = fagpu.gather %m[%c0, %c0] : memref<?x?xf32>[i32, i32] -> !x
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @below {{'fagpu.gather' op is where block values take 256 registers of a thread in @a, which has 128 by sm_80 at 512 threads a multiprocessor; expected smaller tiles, or fewer values that are live at a time}}
      %b = fagpu.gather %m[%i, %c0] : memref<?x?xf32>[i32, i32] -> !x
      fagpu.store %b, %m[%i, %c0] : !x into memref<?x?xf32>
    }
    fagpu.store %a, %m[%c0, %c0] : !x into memref<?x?xf32>
  }
  return
}

// -----

// Made where they are used: constants, indices, and what is made of them, row
// values repeated. A value that is read only once takes its place.
!x = tensor<64x256xf32, #fagpu.acc<4>>
!i = tensor<64x256xi32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
func.func @at_use(%m: memref<?x?xf32>, %f: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) regs(144) {
    %a = fagpu.gather %m[%c0, %c0] : memref<?x?xf32>[i32, i32] -> !x
    %index = fagpu.iota 1 : !i
    %g = arith.sitofp %index : !i to !x
    %scale = tensor.splat %f : !x
    %bias = arith.mulf %g, %scale : !x
    %max = fagpu.reduce max %a : !x -> !row
    %maxes = fagpu.broadcast %max : !row -> !x
    %shift = arith.subf %bias, %maxes : !x
    %b = arith.addf %a, %shift : !x
    fagpu.store %b, %m[%c0, %c0] : !x into memref<?x?xf32>
  }
  return
}

// -----

// A loop carries it, but nothing reads it.
!x = tensor<64x256xf32, #fagpu.acc<4>>
func.func @not_read(%m: memref<?x?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !x
  fagpu.role @a groups(1) regs(144) {
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (!x) : i32 {
      %b = fagpu.gather %m[%i, %c0] : memref<?x?xf32>[i32, i32] -> !x
      %y = arith.addf %x, %b : !x
      %c = fagpu.gather %m[%i, %c0] : memref<?x?xf32>[i32, i32] -> !x
      fagpu.store %c, %m[%i, %c0] : !x into memref<?x?xf32>
      scf.yield %y : !x
    }
  }
  return
}
