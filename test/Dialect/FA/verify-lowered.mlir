// RUN: fa-opt %s --fa-verify-lowered | FileCheck %s
// RUN: fa-opt %s --fa-verify-lowered=kernels-only | FileCheck %s

// The LLVM and NVVM dialects are all that may be left; scripts are no code.

module attributes {transform.with_named_sequence} {
  // CHECK: llvm.func @kernel
  llvm.func @kernel(%x: !llvm.ptr) attributes {fagpu.kernel = "sm_90a"} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    llvm.store %i, %x : i32, !llvm.ptr
    llvm.return
  }
  transform.named_sequence @script(%root: !transform.any_op) {
    transform.yield
  }
}
