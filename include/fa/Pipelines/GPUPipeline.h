//===- GPUPipeline.h - From GPU schedules to the LLVM dialect ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_GPUPIPELINE_H
#define FA_PIPELINES_GPUPIPELINE_H

#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::fa {

/// From a fagpu text to one that is pipelined, numbered and planned: the level
/// that people who write schedules read.
void buildFAGPUPlanPipeline(OpPassManager &manager);

/// The three parts of it. The second changes nothing, and may run on a copy
/// beside what follows.
void buildFAGPUPipelinePipeline(OpPassManager &manager);
void buildFAGPUCheckPipeline(OpPassManager &manager);
void buildFAGPUResourcesPipeline(OpPassManager &manager);

/// Options of `fagpu-to-llvm`.
struct GPULoweringOptions : PassPipelineOptions<GPULoweringOptions> {
  Option<bool> peepholes{*this, "peepholes",
                         llvm::cl::desc("Run passes that only make kernels "
                                        "faster"),
                         llvm::cl::init(true)};
};

/// From a fagpu text to the LLVM dialect with NVVM operations, one llvm.func
/// for each kernel.
void buildFAGPUToLLVMPipeline(OpPassManager &manager,
                              const GPULoweringOptions &options);

/// The same of a text with stages and resources, which `buildFAGPUPlanPipeline`
/// makes of isolated kernels.
void buildPlannedFAGPUToLLVMPipeline(OpPassManager &manager,
                                     const GPULoweringOptions &options);

/// Options of `fagpu-to-ptx`: those of fagpu-kernels-to-binary and of
/// `fagpu-to-llvm`.
struct GPUCompileOptions : PassPipelineOptions<GPUCompileOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("Chip to compile for; the kernels' own if empty"),
      llvm::cl::init("")};
  Option<KernelFormat> format{
      *this, "format", llvm::cl::desc("What to compile to"),
      llvm::cl::init(KernelFormat::ISA),
      llvm::cl::values(
          clEnumValN(KernelFormat::ISA, "isa", "PTX"),
          clEnumValN(KernelFormat::Cubin, "cubin", "machine code, by ptxas"),
          clEnumValN(KernelFormat::Both, "both",
                     "machine code and PTX, one object each"))};
  Option<unsigned> ptxVersion{
      *this, "ptx-version",
      llvm::cl::desc("PTX version, for example 86; 0 chooses"),
      llvm::cl::init(0)};
  Option<bool> failOnSpill{
      *this, "fail-on-spill",
      llvm::cl::desc("A spill or a product that ptxas serialises is an error"),
      llvm::cl::init(false)};
  Option<bool> peepholes{*this, "peepholes",
                         llvm::cl::desc("Run passes that only make kernels "
                                        "faster"),
                         llvm::cl::init(true)};
};

/// From a fagpu text to one gpu.binary with the PTX or machine code of its
/// kernels; the host side is erased.
void buildFAGPUToPTXPipeline(OpPassManager &manager,
                             const GPUCompileOptions &options);

/// Registers `fagpu-plan`, `fagpu-to-llvm` and `fagpu-to-ptx`.
void registerGPUPipelines();

} // namespace mlir::fa

#endif // FA_PIPELINES_GPUPIPELINE_H
