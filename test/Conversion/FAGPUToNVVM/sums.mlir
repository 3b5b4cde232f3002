// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" | FileCheck %s

!acc = tensor<64x96xf32, #fagpu.acc<4>>
!f = memref<?x96xf32>
!p = tensor<64x32xbf16, #fagpu.opa<4>>
!tc = !fagpu.channel<32x96xbf16, #fagpu.smem<64>, 1>
!tv = !fagpu.view<32x96xbf16, #fagpu.smem<64>>

// A fragment is read once for all products of 32 columns: in each of two steps
// those of the first view for the second product, then those of the second view
// for the others. The last product has sums of its own, added at the end, as
// the accumulator is. A branch separates parts of the columns.
// CHECK-LABEL: func.func @sum
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-32: llvm.fadd
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.inline_asm {{.*}} trap; }
// CHECK-COUNT-24: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-32: llvm.fadd
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.inline_asm {{.*}} trap; }
// CHECK-COUNT-24: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-32: llvm.fadd
// CHECK-NOT: trap
// CHECK-NOT: llvm.fadd
func.func @sum(%m: memref<?x96xbf16>, %f: !f, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = fagpu.channel cp_async : !tc
  %c2 = fagpu.channel cp_async : !tc
  fagpu.role @all groups(1) {
    %y = tensor.splat %x : tensor<64x32xf32, #fagpu.acc<4>>
    %h = arith.truncf %y : tensor<64x32xf32, #fagpu.acc<4>> to tensor<64x32xbf16, #fagpu.acc<4>>
    %p = fagpu.convert %h : tensor<64x32xbf16, #fagpu.acc<4>> -> !p
    %acc = tensor.splat %x : !acc
    fagpu.put %c1, %m[%c0, %c0] [32, 96] rows(%n) : memref<?x96xbf16> into !tc
    fagpu.put %c2, %m[%c0, %c0] [32, 96] rows(%n) : memref<?x96xbf16> into !tc
    %v1 = fagpu.acquire %c1 : !tc
    %v2 = fagpu.acquire %c2 : !tc
    %s = fagpu.mma_sum nn [%p], [%v1, %v2] pairs [0, 0, 0], [1, 0, 1] acc(%acc : !acc)
        : (!p), (!tv, !tv) -> !acc
    fagpu.release %v1 : !tv
    fagpu.release %v2 : !tv
    fagpu.store %s, %f[%c0, %c0] rows(%n) : !acc into !f
  }
  return
}
