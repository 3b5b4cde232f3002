// Kernels in modules of their own become one text and one object, each declaration once.

// RUN: fa-opt %s --fagpu-kernels-to-binary | FileCheck %s
// The text is the same without threads.
// RUN: fa-opt %s --fagpu-kernels-to-binary -o %t.threads.mlir
// RUN: fa-opt %s --fagpu-kernels-to-binary --mlir-disable-threading -o %t.sequential.mlir
// RUN: cmp %t.threads.mlir %t.sequential.mlir
// An error of one is the error of all.
// RUN: sed 's/kernel = "sm_80"} { \/\/ second/kernel = "sm_90a"} {/' %s > %t.other.mlir
// RUN: not fa-opt %t.other.mlir --fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=CHIP

// CHECK-LABEL: module
// CHECK-NOT: llvm.func
// CHECK: gpu.binary @kernels
// CHECK-SAME: #gpu.kernel_metadata<"first", {{.*}}#gpu.kernel_metadata<"second",
// CHECK-SAME: assembly = "{{.*}}.version 8.0\0A.target sm_80
// CHECK-SAME: .b8 table[8]
// CHECK-SAME: .visible .entry first(
// CHECK-SAME: $L__BB0_1:
// CHECK-NOT: .version
// CHECK-NOT: .b8 table[8]
// CHECK-SAME: .b8 other[4]
// CHECK-SAME: .visible .entry second(
// CHECK-SAME: $L__BB1_1:
// CHECK: module
// CHECK-NEXT: llvm.func @helper

// CHIP: error: 'llvm.func' op is a kernel for sm_90a, which does not run on sm_80

module {
  llvm.mlir.global internal constant @table(dense<[3, 4]> : tensor<2xi32>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<2 x i32>
  llvm.func @first(%out: !llvm.ptr<1>, %n: i64) attributes {fagpu.kernel = "sm_80", nvvm.kernel} {
    %table = llvm.mlir.addressof @table : !llvm.ptr<1>
    %zero = llvm.mlir.constant(0 : i64) : i64
    llvm.br ^loop(%zero : i64)
  ^loop(%i: i64):
    %from = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %word = llvm.load volatile %from : !llvm.ptr<1> -> i32
    llvm.store volatile %word, %out : i32, !llvm.ptr<1>
    %one = llvm.mlir.constant(1 : i64) : i64
    %next = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^loop(%next : i64), ^end
  ^end:
    llvm.return
  }
}
module {
  llvm.mlir.global internal constant @table(dense<[3, 4]> : tensor<2xi32>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<2 x i32>
  llvm.mlir.global internal constant @other(dense<5> : tensor<1xi32>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<1 x i32>
  llvm.func @second(%out: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel, fagpu.kernel = "sm_80"} { // second
    %table = llvm.mlir.addressof @table : !llvm.ptr<1>
    %other = llvm.mlir.addressof @other : !llvm.ptr<1>
    %zero = llvm.mlir.constant(0 : i64) : i64
    llvm.br ^loop(%zero : i64)
  ^loop(%i: i64):
    %from = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %word = llvm.load volatile %from : !llvm.ptr<1> -> i32
    %more_words = llvm.load volatile %other : !llvm.ptr<1> -> i32
    %sum = llvm.add %word, %more_words : i32
    llvm.store volatile %sum, %out : i32, !llvm.ptr<1>
    %one = llvm.mlir.constant(1 : i64) : i64
    %next = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^loop(%next : i64), ^end
  ^end:
    llvm.return
  }
}
// Modules without kernels stay.
module {
  llvm.func @helper() {
    llvm.return
  }
}
