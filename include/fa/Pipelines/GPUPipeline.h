//===- GPUPipeline.h - From GPU schedules to the LLVM dialect -----*- C++
//-*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_GPUPIPELINE_H
#define FA_PIPELINES_GPUPIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace mlir::fa {

/// From a fagpu text to one that is pipelined, numbered and planned: the level
/// that people who write schedules read.
void buildFAGPUPlanPipeline(OpPassManager &manager);

/// From a fagpu text to the LLVM dialect with NVVM operations, one llvm.func
/// for each kernel.
void buildFAGPUToLLVMPipeline(OpPassManager &manager);

/// Registers `fagpu-plan` and `fagpu-to-llvm`.
void registerGPUPipelines();

} // namespace mlir::fa

#endif // FA_PIPELINES_GPUPIPELINE_H
