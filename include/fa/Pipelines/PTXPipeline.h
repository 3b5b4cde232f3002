//===- PTXPipeline.h - From attention to PTX or machine code ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_PTXPIPELINE_H
#define FA_PIPELINES_PTXPIPELINE_H

#include "fa/Pipelines/GPUPipeline.h"

namespace mlir::fa {

/// From level 0, 1 or 2 to one gpu.binary with the PTX or machine code of all
/// kernels; the host side is erased. `options.chip` also chooses the schedule;
/// empty stands for sm_80, whose code runs on every later GPU as PTX.
///
/// The same as buildFAToSchedulePipeline followed by buildFAGPUToPTXPipeline. A
/// compiler that launches kernels by itself runs the first alone, reads grid
/// and arguments from the `fagpu.launch` of each host function, and then runs
/// the second; `compileSchedule` (fa/Export/Compile.h) makes a launcher's
/// manifest of the same.
void buildFAToPTXPipeline(OpPassManager &manager,
                          const GPUCompileOptions &options);

/// Registers `fa-to-ptx`.
void registerPTXPipeline();

} // namespace mlir::fa

#endif // FA_PIPELINES_PTXPIPELINE_H
