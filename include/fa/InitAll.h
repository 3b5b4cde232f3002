//===- InitAll.h - Registration of everything the project defines ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// For drivers, plugins and other compilers. The functions name only what this
// project defines: upstream dialects and passes are the caller's choice, and a
// program that wants less calls the functions of the single parts instead.
//
//===----------------------------------------------------------------------===//

#ifndef FA_INITALL_H
#define FA_INITALL_H

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Conversion/StableHLOToLinalg/Passes.h"
#include "fa/Conversion/ToFA/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/TransformOps/FATransformOps.h"
#include "fa/Dialect/FA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Sequences.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Pipelines/CPUPipeline.h"
#include "fa/Pipelines/GPUPipeline.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "fa/Pipelines/NaivePipeline.h"
#include "fa/Pipelines/PTXPipeline.h"
#include "fa/Pipelines/SchedulePipeline.h"
#include "fa/Target/NVPTX/Passes.h"

namespace mlir::fa {

/// The dialects of the project, and the implementations of interfaces that its
/// pipelines need.
inline void registerAllDialects(DialectRegistry &registry) {
  registry.insert<FADialect, fagpu::FAGPUDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  registerTransformDialectExtension(registry);
  registerCPUPipelineInterfaces(registry);
}

/// The passes and named pipelines of the project.
inline void registerAllPasses() {
  registerFAPasses();
  registerFASequencePasses();
  registerFASharedKeyPasses();
  fagpu::registerFAGPUPasses();
  fagpu::registerFAGPUConversionPasses();
  registerFAToFAGPUPasses();
  registerFAToFAPasses();
  registerCPUPipelines();
  registerFANVPTXPasses();
  registerFAStableHLOToLinalgPasses();
  registerGPUPipelines();
  registerLevel2Pipeline();
  registerNaivePipeline();
  registerPTXPipeline();
  registerSchedulePipeline();
}

} // namespace mlir::fa

#endif // FA_INITALL_H
