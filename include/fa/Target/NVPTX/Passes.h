//===- Passes.h - Kernels to PTX and machine code --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_PASSES_H
#define FA_TARGET_NVPTX_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::fa {

/// What kernels are compiled to.
enum class KernelFormat { ISA, Cubin, Both };

#define GEN_PASS_DECL
#include "fa/Target/NVPTX/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Target/NVPTX/Passes.h.inc"

} // namespace mlir::fa

#endif // FA_TARGET_NVPTX_PASSES_H
