//===- PTXPipeline.cpp - From attention to PTX or machine code ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/PTXPipeline.h"

#include "fa/Pipelines/RegisterPipeline.h"
#include "fa/Pipelines/SchedulePipeline.h"

using namespace mlir;

void fa::buildFAToPTXPipeline(OpPassManager &manager,
                              const GPUCompileOptions &options) {
  ScheduleOptions schedule;
  if (!options.chip.empty())
    schedule.chip = options.chip;
  schedule.peepholes = options.peepholes;
  buildFAToSchedulePipeline(manager, schedule);
  buildFAGPUToPTXPipeline(manager, options);
}

void fa::registerPTXPipeline() {
  registerPipeline<GPUCompileOptions>(
      "fa-to-ptx", "From level 0 to PTX or machine code", buildFAToPTXPipeline);
}
