//===- Pipelines.cpp - From this compiler's operations to a GPU -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Standalone/Standalone.h"
#include "fa/Conversion/ToFA/Passes.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "fa/Pipelines/PTXPipeline.h"
#include "fa/Pipelines/SchedulePipeline.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace {
/// Where this compiler takes over again.
enum class Stop { Attention, Tiled, Schedule, PTX, Cubin };

struct GPUOptions : PassPipelineOptions<GPUOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("GPU to compile for"),
                           llvm::cl::init("sm_80")};
  Option<Stop> stop{
      *this, "stop-at", llvm::cl::desc("Level to stop at"),
      llvm::cl::init(Stop::Cubin),
      llvm::cl::values(
          clEnumValN(Stop::Attention, "attention", "fa.attention on tensors"),
          clEnumValN(Stop::Tiled, "tiled", "blocks of queries and keys"),
          clEnumValN(Stop::Schedule, "schedule", "kernels and their launches"),
          clEnumValN(Stop::PTX, "ptx", "a gpu.binary with PTX"),
          clEnumValN(Stop::Cubin, "cubin", "a gpu.binary with machine code"))};
};
} // namespace

static void buildToGPUPipeline(OpPassManager &manager,
                               const GPUOptions &options) {
  // Attention that is written as linalg, too.
  manager.addPass(mlir::fa::createFARaiseAttention());
  manager.addPass(standalone::createLowerToFA());
  switch (options.stop) {
  case Stop::Attention:
    return;
  case Stop::Tiled: {
    mlir::fa::Level2Options level2;
    level2.chip = options.chip;
    return mlir::fa::buildFAToLevel2Pipeline(manager, level2);
  }
  case Stop::Schedule: {
    mlir::fa::ScheduleOptions schedule;
    schedule.chip = options.chip;
    return mlir::fa::buildFAToSchedulePipeline(manager, schedule);
  }
  case Stop::PTX:
  case Stop::Cubin: {
    mlir::fa::GPUCompileOptions code;
    code.chip = options.chip;
    code.format = options.stop == Stop::PTX ? mlir::fa::KernelFormat::ISA
                                            : mlir::fa::KernelFormat::Cubin;
    return mlir::fa::buildFAToPTXPipeline(manager, code);
  }
  }
}

void standalone::registerStandalonePipelines() {
  PassPipelineRegistration<GPUOptions>(
      "standalone-to-gpu", "From this compiler's operations to a GPU",
      buildToGPUPipeline);
}
