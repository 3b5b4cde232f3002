// Functions of f32 become instructions that are rounded correctly, and no call of a
// library.

// RUN: fa-opt %s --pass-pipeline="builtin.module(fagpu-to-llvm)" -o %t.mlir
// RUN: mlir-translate --mlir-to-llvmir %t.mlir -o %t.ll
// RUN: %llc -O3 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx86 %t.ll -o %t.ptx
// RUN: FileCheck %s --implicit-check-not=call --implicit-check-not=add.f32 --implicit-check-not=mul.f32 < %t.ptx

// A thread has two of the 64 numbers, and approximates where it is asked for.
// RUN: grep "approx" %t.ptx | count 2
// RUN: grep "tanh.approx.f32" %t.ptx | count 2

// CHECK-DAG: fma.rn.f32
// CHECK-DAG: div.rn.f32
// CHECK-DAG: sqrt.rn.f32

!row = tensor<64xf32, #fagpu.row<4>>
func.func @functions(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %x = fagpu.gather %m[%c0] : memref<?xf32>[i32] -> !row
    %a = math.exp2 %x : !row
    %b = math.exp %a : !row
    %c = math.log2 %b : !row
    %d = math.log %c : !row
    %e = math.tanh %d : !row
    %f = math.sin %e : !row
    %g = math.cos %f : !row
    %h = math.erf %g : !row
    %i = math.sqrt %h : !row
    %j = math.rsqrt %i : !row
    %k = math.powf %j, %x : !row
    %l = arith.divf %k, %x : !row
    %n = math.tanh %l fastmath<afn> : !row
    fagpu.store %n, %m[%c0] : !row into memref<?xf32>
  }
  return
}
