// Kernels in modules of their own become binaries of their own, compiled side by side.

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
// CHECK: gpu.binary @kernels_0
// CHECK-SAME: kernels = <[#gpu.kernel_metadata<"first", {{[^#]*}}]>
// CHECK-SAME: assembly = "{{.*}}.version 8.0\0A.target sm_80
// CHECK-SAME: .b8 table[8]
// CHECK-SAME: .visible .entry first(
// CHECK-SAME: $L__BB0_1:
// CHECK-NOT: second
// CHECK: gpu.binary @kernels_1
// CHECK-SAME: kernels = <[#gpu.kernel_metadata<"second", {{[^#]*}}]>
// CHECK-SAME: assembly = "{{.*}}.version 8.0\0A.target sm_80
// CHECK-SAME: .b8 table[8]
// CHECK-SAME: .b8 other[4]
// CHECK-NOT: first
// CHECK-SAME: .visible .entry second(
// CHECK-SAME: $L__BB0_1:
// CHECK: module
// CHECK-NEXT: llvm.func @helper

// Each is assembled by itself: what spills at -O3 alone is assembled again, and what ptxas refuses is an error.
// RUN: echo '#!/bin/sh' > %t.ptxas
// RUN: echo 'echo "$@" | grep -q version || echo run "$@" >> %t.runs; exec %python %S/Inputs/fake-ptxas.py "$@"' >> %t.ptxas
// RUN: chmod +x %t.ptxas && rm -f %t.runs
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_KERNEL=second FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'second' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" 2>&1 | FileCheck %s --check-prefix=SPILL
// RUN: grep -c -e -O3 %t.runs | FileCheck %s --check-prefix=HIGHEST
// RUN: grep -c -e -O1 %t.runs | FileCheck %s --check-prefix=OTHER
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_KERNEL=second FAKE_PTXAS_STATUS=1 FAKE_PTXAS_OUTPUT="line 1; syntax" not fa-opt %s --fagpu-kernels-to-binary="format=cubin" 2>&1 | FileCheck %s --check-prefix=REFUSED
// Each takes the level by which it spills less: what does not spill at -O3 keeps it.
// RUN: rm -f %t.runs
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_KERNEL=second FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'second' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   FAKE_PTXAS_OUTPUT_O1="ptxas info    : Compiling entry function 'second' for 'sm_80'\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" --remark-format=emitRemark --remarks-filter=fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: grep -c -e -O3 %t.runs | FileCheck %s --check-prefix=HIGHEST
// RUN: grep -c -e -O1 %t.runs | FileCheck %s --check-prefix=OTHER
// LEVEL: remark: {{.*}}kernel 'second': ptxas -O3 spills 28 bytes a thread and -O1 8; the code is that of -O1
// LEVEL: warning: kernel 'second' spills 4 bytes of stores and 4 bytes of loads a thread
// LEVEL: gpu.binary @kernels_0
// LEVEL: gpu.binary @kernels_1 {{.*}}assembler_level = 1 : i64
// SPILL: warning: kernel 'second' spills 12 bytes of stores and 16 bytes of loads a thread, at 255 registers
// SPILL-NOT: warning
// SPILL: gpu.binary @kernels_0 {{.*}}bin = "
// SPILL-NOT: spill_stores = 12
// SPILL: gpu.binary @kernels_1 {{.*}}spill_stores = 12 : i64{{.*}}bin = "
// HIGHEST: {{^}}2{{$}}
// OTHER: {{^}}1{{$}}
// REFUSED: error: '{{.*}}ptxas' failed for sm_80: line 1; syntax
// REFUSED-NOT: error

// CHIP: error: kernel '{{.*}}' is for sm_90a, which does not run on sm_80, expected sm_90a

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
