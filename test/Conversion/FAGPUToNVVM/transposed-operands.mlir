// RUN: fa-opt %s --pass-pipeline="builtin.module(fagpu-assign-waits,func.func(fagpu-assign-stages,fagpu-assign-copies,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Products whose first operand is stored as K x 64. A step of 16 along K is 16 rows
// of 128 bytes, 128 units of 16; along the contiguous dimension it is 32 bytes, 2
// units. The last two numbers of an instruction say which operand is transposed.

#sw = #fagpu.smem<128>
!t = !fagpu.channel<128x128xbf16, #sw, 1>
!v = !fagpu.view<128x128xbf16, #sw>
!a = !fagpu.view<128x64xbf16, #sw>
!f = !fagpu.inflight<tensor<64x128xf32, #fagpu.acc<4>>>
!acc = tensor<64x128xf32, #fagpu.acc<4>>

// CHECK-LABEL: func.func @forms(
func.func @forms(%m: memref<?x128xf32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @math(%g) groups(1) {
    %v = fagpu.acquire %t : !t
    %a = fagpu.slice %v[%c0, %c] : !v to !a
    // CHECK: add.s64 a, $64, 0; add.s64 b, $65, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, a, b, zero, 1, 1, 1, 0; add.s64 a, $64, 128; add.s64 b, $65, 2; {{.*}}, 1, 1, 1, 0; add.s64 a, $64, 256; add.s64 b, $65, 4;
    %f = fagpu.mma_async tt %a, %v : !a, !v -> !f
    %x = fagpu.wait %f : !f
    // CHECK: add.s64 a, $64, 128; add.s64 b, $65, 128; {{.*}}, 1, 1, 1, 1;
    %h = fagpu.mma_async tn %a, %v : !a, !v -> !f
    %y = fagpu.wait %h : !f
    fagpu.release %v : !v
    fagpu.store %x, %m[%c0, %c0] : !acc into memref<?x128xf32>
    fagpu.store %y, %m[%c, %c0] : !acc into memref<?x128xf32>
  }
  return
}

// Warps read 16 columns each of a first operand that is stored by columns, and transpose them on the way; rows of the second operand as well.
// CHECK-LABEL: func.func @of_warps(
func.func @of_warps(%m: memref<?x128xf32>, %from: memref<?x128xbf16>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @math(%g) groups(1) {
    fagpu.put %t, %from[%c0, %c0] [128, 128] : memref<?x128xbf16> into !t
    %v = fagpu.acquire %t : !t
    // CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4 : i32
    // CHECK-NOT: mma_layout<row>, num
    // CHECK: nvvm.mma.sync
    %x = fagpu.mma tn %v, %v : !v, !v -> tensor<128x128xf32, #fagpu.acc<4>>
    fagpu.release %v : !v
    fagpu.store %x, %m[%c0, %c0] : tensor<128x128xf32, #fagpu.acc<4>> into memref<?x128xf32>
  }
  return
}
