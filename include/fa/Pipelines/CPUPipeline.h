//===- CPUPipeline.h - From attention to the LLVM dialect ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_CPUPIPELINE_H
#define FA_PIPELINES_CPUPIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace mlir::fa {

/// From scf, vector, memref, arith and math to the LLVM dialect, with a C
/// interface for every public function.
void buildLowerToLLVMPipeline(OpPassManager &manager);

/// From tiled attention (level 2) to vectors in loops and calls of the runtime
/// (level 3C).
void buildBlocksToVectorsPipeline(OpPassManager &manager);

/// From any level (0 to 3C) to the LLVM dialect.
void buildFAToCPUPipeline(OpPassManager &manager);

/// Registers `fa-to-cpu` and `fa-lower-to-llvm`.
void registerCPUPipelines();

/// Registers in `registry` the upstream interface implementations that these
/// pipelines need beside their passes' dependent dialects.
void registerCPUPipelineInterfaces(DialectRegistry &registry);

} // namespace mlir::fa

#endif // FA_PIPELINES_CPUPIPELINE_H
