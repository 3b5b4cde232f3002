// RUN: split-file %s %t
// RUN: echo '#!/bin/sh' > %t/ptxas
// RUN: echo 'exec %python %S/Inputs/fake-ptxas.py "$@"' >> %t/ptxas
// RUN: chmod +x %t/ptxas

// RUN: not fa-opt %t/none.mlir --fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no kernel in the LLVM dialect, expected an llvm.func with the attribute 'fagpu.kernel'; fa-to-ptx makes some of functions with attention, fagpu-to-ptx of schedules

// RUN: not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary=chip=sm_91 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: chip is 'sm_91', expected one of sm_80, sm_86

// RUN: not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary=chip=sm_80 2>&1 | FileCheck %s --check-prefix=OLDER
// OLDER: error: kernel 'kernel' is for sm_90a, which does not run on sm_80, expected sm_90a

// RUN: not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary=chip=sm_100 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: error: kernel 'kernel' is for sm_90a, which does not run on sm_100, expected sm_90a

// RUN: not fa-opt %t/any.mlir --fagpu-kernels-to-binary=chip=sm_80 2>&1 | FileCheck %s --check-prefix=ANY
// ANY: error: kernel 'any' is for sm_90, which does not run on sm_80, expected one of sm_90, sm_90a, sm_100, sm_120

// RUN: env FA_PTXAS=none not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary=ptx-version=78 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: PTX version is 78, expected 80 to 90 for sm_90a

// RUN: env FA_PTXAS=%t/ptxas FAKE_PTXAS_RELEASE=11.8 not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=ASSEMBLER
// ASSEMBLER: error: '{{.*}}ptxas' takes PTX up to 78, but sm_90a needs 80

// RUN: env FA_PTXAS=none not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary=format=cubin 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: no machine code: found no ptxas; set FA_PTXAS, PATH or CUDA_HOME, or compile to PTX with format=isa (fa-compile: --images=ptx)

// RUN: env FA_PTXAS=%t/ptxas FAKE_PTXAS_STATUS=1 FAKE_PTXAS_OUTPUT="line 1; syntax" not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary=format=cubin 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED: error: '{{.*}}ptxas' failed for sm_90a: line 1; syntax

// RUN: env FA_PTXAS=%t/ptxas FAKE_PTXAS_OUTPUT="ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized" not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary="format=cubin fail-on-spill" 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: error: ptxas does not do what the kernel says: kernel 'kernel': ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async

// RUN: env FA_PTXAS=%t/ptxas FAKE_PTXAS_OUTPUT="ptxas info    : Compiling entry function 'kernel' for 'sm_90a'\n    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n Used 168 registers, used 1 barriers" not fa-opt %t/kernel.mlir --fagpu-kernels-to-binary="format=cubin fail-on-spill" 2>&1 | FileCheck %s --check-prefix=SPILL
// SPILL: error: kernel 'kernel' spills 4 bytes of stores and 8 bytes of loads a thread, at 168 registers

// RUN: not fa-opt %t/select.mlir --fagpu-kernels-to-binary 2>&1 | FileCheck %s --check-prefix=SELECT
// SELECT: error: no PTX: Cannot select: intrinsic %llvm.nvvm.fence.mbarrier_init.release.cluster
// SELECT-NOT: Stack dump

//--- select.mlir
llvm.func @kernel() attributes {fagpu.kernel = "sm_80", nvvm.kernel} {
  nvvm.fence.mbarrier.init
  llvm.return
}

//--- none.mlir
func.func @host() {
  return
}

//--- any.mlir
llvm.func @any() attributes {fagpu.kernel = "sm_90", nvvm.kernel} {
  llvm.return
}

//--- kernel.mlir
llvm.func @kernel() attributes {fagpu.kernel = "sm_90a", nvvm.kernel} {
  llvm.return
}
