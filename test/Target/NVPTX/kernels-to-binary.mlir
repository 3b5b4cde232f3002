// Kernels become one object; LLVM's own assembler language is the image.

// RUN: fa-opt %s --fagpu-kernels-to-binary | FileCheck %s
// RUN: fa-opt %s --fagpu-kernels-to-binary="chip=sm_90a" | FileCheck %s --check-prefix=CHIP
// RUN: fa-opt %s --fagpu-kernels-to-binary="chip=sm_90 ptx-version=78" | FileCheck %s --check-prefix=VERSION

// An assembler that is older than the target's PTX lowers the version.
// RUN: echo '#!/bin/sh' > %t.ptxas
// RUN: echo 'exec %python %S/Inputs/fake-ptxas.py "$@"' >> %t.ptxas
// RUN: chmod +x %t.ptxas
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_RELEASE=11.8 fa-opt %s --fagpu-kernels-to-binary | FileCheck %s --check-prefix=OLD

// An old one does not assemble kernels at the same time.
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_RELEASE=11.8 fa-opt %s --fagpu-kernels-to-binary="format=cubin" | FileCheck %s --check-prefix=OLDBINARY
// OLDBINARY: gpu.binary @kernels {{.*}}bin = "

// What the assembler reports is kept; a spill is a warning.
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" 2>&1 | FileCheck %s --check-prefix=SPILL

// So are products that it waits for: the numbers stay right.
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_OUTPUT="ptxas info    : (C7517) warpgroup.wait is injected" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" 2>&1 | FileCheck %s --check-prefix=WAITS

// Where -O3 spills -O1 is tried too, and taken if it spills at most half as much; a remark and the metadata say which.
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   FAKE_PTXAS_OUTPUT_O1="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 200 registers, used 1 barriers" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" --remark-format=emitRemark --remarks-filter=fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   FAKE_PTXAS_OUTPUT_O1="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\nptxas info    : Used 200 registers, used 1 barriers" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" --remark-format=emitRemark --remarks-filter=fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   fa-opt %s --fagpu-kernels-to-binary="format=cubin" --remark-format=emitRemark --remarks-filter=fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=HIGHEST
// RUN: env FA_PTXAS=%t.ptxas fa-opt %s --fagpu-kernels-to-binary="format=cubin" --remark-format=emitRemark --remarks-filter=fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=NOREMARK

// Kernels of one text have one level.
// RUN: sed -n '/^llvm.func @copy/,/^}/p' %s | sed 's/@copy/@again/' > %t.again.mlir
// RUN: cat %s %t.again.mlir > %t.two.mlir
// RUN: env FA_PTXAS=%t.ptxas FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'copy' for 'sm_80'\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers" \
// RUN:   fa-opt %t.two.mlir --fagpu-kernels-to-binary="format=cubin" --remark-format=emitRemark --remarks-filter=fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: remark: {{.*}}kernels 'copy', 'again': ptxas -O3 spills 28 bytes a thread and -O1 28; the code is that of -O3

// CHECK-LABEL: module
// CHECK-NOT: llvm.func
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">
// CHECK-SAME: kernels = <[#gpu.kernel_metadata<"copy", !llvm.func<void (ptr<1>)>, metadata = {fagpu.kernel = "sm_80", fagpu.shared_memory = 64 : i64
// CHECK-SAME: assembly = "{{.*}}.version 8.0\0A.target sm_80
// CHECK-SAME: .visible .entry copy(
// CHECK-SAME: .maxntid 128
// CHECK-SAME: st.global.b32
// CHECK: func.func @other

// CHIP: chip = "sm_90a", features = "+ptx86"
// CHIP-SAME: .version 8.6\0A.target sm_90a
// VERSION: chip = "sm_90", features = "+ptx78"
// VERSION-SAME: .version 7.8\0A.target sm_90
// OLD: chip = "sm_80", features = "+ptx78"

// SPILL: warning: kernel 'copy' spills 12 bytes of stores and 16 bytes of loads a thread, at 255 registers
// WAITS: warning: ptxas does not do what the kernel says: kernel 'copy': ptxas info : (C7517) warpgroup.wait is injected
// WAITS: bin = "
// LEVEL: remark: {{.*}}kernel 'copy': ptxas -O3 spills 28 bytes a thread and -O1 0; the code is that of -O1
// LEVEL-NOT: warning
// LEVEL: assembler_level = 1 : i64
// LEVEL-SAME: registers = 200 : i64, spill_loads = 0 : i64, spill_stores = 0 : i64
// FEWER: remark: {{.*}}kernel 'copy': ptxas -O3 spills 28 bytes a thread and -O1 16; the code is that of -O3
// FEWER: assembler_level = 3 : i64
// HIGHEST: remark: {{.*}}kernel 'copy': ptxas -O3 spills 28 bytes a thread and -O1 28; the code is that of -O3
// HIGHEST: assembler_level = 3 : i64
// NOREMARK-NOT: remark
// NOREMARK: gpu.binary

// SPILL: registers = 255 : i64, spill_loads = 16 : i64, spill_stores = 12 : i64
// SPILL-SAME: bin = "

llvm.func @copy(%out: !llvm.ptr<1>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 64 : i64, nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %x = llvm.mlir.constant(7 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
func.func @other() {
  return
}
