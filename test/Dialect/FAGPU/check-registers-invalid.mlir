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

// -----

// What is made at its use of itself twice, many times over, takes no time.
!x = tensor<64x256xf32, #fagpu.acc<4>>
!i = tensor<64x256xi32, #fagpu.acc<4>>
func.func @shared(%m: memref<?x?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) regs(144) {
    %i0 = fagpu.iota 1 : !i
    %i1 = arith.addi %i0, %i0 : !i
    %i2 = arith.addi %i1, %i1 : !i
    %i3 = arith.addi %i2, %i2 : !i
    %i4 = arith.addi %i3, %i3 : !i
    %i5 = arith.addi %i4, %i4 : !i
    %i6 = arith.addi %i5, %i5 : !i
    %i7 = arith.addi %i6, %i6 : !i
    %i8 = arith.addi %i7, %i7 : !i
    %i9 = arith.addi %i8, %i8 : !i
    %i10 = arith.addi %i9, %i9 : !i
    %i11 = arith.addi %i10, %i10 : !i
    %i12 = arith.addi %i11, %i11 : !i
    %i13 = arith.addi %i12, %i12 : !i
    %i14 = arith.addi %i13, %i13 : !i
    %i15 = arith.addi %i14, %i14 : !i
    %i16 = arith.addi %i15, %i15 : !i
    %i17 = arith.addi %i16, %i16 : !i
    %i18 = arith.addi %i17, %i17 : !i
    %i19 = arith.addi %i18, %i18 : !i
    %i20 = arith.addi %i19, %i19 : !i
    %i21 = arith.addi %i20, %i20 : !i
    %i22 = arith.addi %i21, %i21 : !i
    %i23 = arith.addi %i22, %i22 : !i
    %i24 = arith.addi %i23, %i23 : !i
    %i25 = arith.addi %i24, %i24 : !i
    %i26 = arith.addi %i25, %i25 : !i
    %i27 = arith.addi %i26, %i26 : !i
    %i28 = arith.addi %i27, %i27 : !i
    %i29 = arith.addi %i28, %i28 : !i
    %i30 = arith.addi %i29, %i29 : !i
    %i31 = arith.addi %i30, %i30 : !i
    %i32 = arith.addi %i31, %i31 : !i
    %i33 = arith.addi %i32, %i32 : !i
    %i34 = arith.addi %i33, %i33 : !i
    %i35 = arith.addi %i34, %i34 : !i
    %i36 = arith.addi %i35, %i35 : !i
    %i37 = arith.addi %i36, %i36 : !i
    %i38 = arith.addi %i37, %i37 : !i
    %i39 = arith.addi %i38, %i38 : !i
    %i40 = arith.addi %i39, %i39 : !i
    %a = fagpu.gather %m[%c0, %i40] : memref<?x?xf32>[i32, !i] -> !x
    fagpu.store %a, %m[%c0, %c0] : !x into memref<?x?xf32>
  }
  return
}

// -----

// A vector takes no registers where its stage is released behind all of its uses:
// it may be read from there, element by element.
!x = tensor<64x128xf32, #fagpu.acc<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!l = !fagpu.channel<128xf32, #fagpu.smem<0>, 1>
!lv = !fagpu.view<128xf32, #fagpu.smem<0>>
func.func @late_vector(%m: memref<?x128xf32>, %v: memref<?xf32>, %o: memref<?x128xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %l = fagpu.channel tma : !l
  fagpu.role @load groups(1) elect {
    fagpu.put %l, %v[%c0] [128] : memref<?xf32> into !l
  }
  fagpu.role @math groups(1) regs(64) {
    %x = fagpu.gather %m[%c0, %c0] : memref<?x128xf32>[i32, i32] -> !x
    %lv = fagpu.acquire %l : !l
    %y = fagpu.load %lv : !lv -> !col
    %n = arith.negf %y : !col
    %b = fagpu.broadcast %n : !col -> !x
    %z = arith.addf %x, %b : !x
    fagpu.release %lv : !lv
    fagpu.store %z, %o[%c0, %c0] : !x into memref<?x128xf32>
  }
  return
}

// -----

// Released at once, it is held in registers until it is used.
!x = tensor<64x128xf32, #fagpu.acc<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!l = !fagpu.channel<128xf32, #fagpu.smem<0>, 1>
!lv = !fagpu.view<128xf32, #fagpu.smem<0>>
func.func @early_vector(%m: memref<?x128xf32>, %v: memref<?xf32>, %o: memref<?x128xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %l = fagpu.channel tma : !l
  fagpu.role @load groups(1) elect {
    fagpu.put %l, %v[%c0] [128] : memref<?xf32> into !l
  }
  fagpu.role @math groups(1) regs(64) {
    %lv = fagpu.acquire %l : !l
    %y = fagpu.load %lv : !lv -> !col
    fagpu.release %lv : !lv
    %x = fagpu.gather %m[%c0, %c0] : memref<?x128xf32>[i32, i32] -> !x
    %n = arith.negf %y : !col
    // expected-error @below {{'fagpu.broadcast' op is where block values take 96 registers of a thread in @math, which has 64 by regs(64); expected at least regs(96), or smaller tiles}}
    %b = fagpu.broadcast %n : !col -> !x
    %z = arith.addf %x, %b : !x
    fagpu.store %z, %o[%c0, %c0] : !x into memref<?x128xf32>
  }
  return
}
