//===- GPUPipeline.cpp - From GPU schedules to the LLVM dialect -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/GPUPipeline.h"
#include "fa/Pipelines/Peepholes.h"
#include "fa/Pipelines/RegisterPipeline.h"

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void addCleanUp(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// The same for kernels of scalars. Loops carry hundreds of values here, and
/// their patterns compare these in pairs: bottom-up, a loop is not looked at
/// again for each operation in it that folds.
static void addCleanUpOfScalars(OpPassManager &manager) {
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
  manager.addPass(createCanonicalizerPass(config));
  manager.addPass(createCSEPass());
}

void fa::buildFAGPUPlanPipeline(OpPassManager &manager) {
  buildFAGPUPipelinePipeline(manager);
  buildFAGPUCheckPipeline(manager);
  buildFAGPUResourcesPipeline(manager);
}

void fa::buildFAGPUPipelinePipeline(OpPassManager &manager) {
  manager.addPass(createFAVerifyLevel({/*isSchedule=*/true}));
  manager.addPass(createInlinerPass());
  manager.addPass(createSymbolDCEPass());
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUInferLayoutsPass());
  // Slots are discardable attributes: no pattern runs between these two.
  manager.addPass(fagpu::createFAGPUExpandSlotsPass());
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUCheckPass());
  manager.addPass(fagpu::createFAGPUPipelinePass());
  addCleanUp(manager);
}

void fa::buildFAGPUCheckPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUCheckPass());
}

void fa::buildFAGPUResourcesPipeline(OpPassManager &manager) {
  manager.addPass(fagpu::createFAGPUAssignWaitsPass());
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUAssignCopiesPass());
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUAssignStagesPass());
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUPlanResourcesPass());
  addCleanUp(manager);
}

void fa::buildFAGPUToLLVMPipeline(OpPassManager &manager,
                                  const GPULoweringOptions &options) {
  manager.addPass(fagpu::createFAGPUIsolateKernelsPass());
  buildFAGPUPlanPipeline(manager);
  buildPlannedFAGPUToLLVMPipeline(manager, options);
}

void fa::buildPlannedFAGPUToLLVMPipeline(OpPassManager &manager,
                                         const GPULoweringOptions &options) {
  manager.addPass(fagpu::createFAGPUPinPass());
  // No loop-invariant code motion from here on: column indices are immediates
  // where they are used, and registers if they are hoisted.
  if (options.peepholes)
    addPeepholes(manager, PeepholeLevel::Indices);
  manager.addPass(createCSEPass());
  manager.addPass(fagpu::createConvertFAGPUToNVVMPass());
  manager.addPass(fagpu::createFAGPULowerKernelPass());
  addCleanUpOfScalars(manager);
  if (options.peepholes)
    addPeepholes(manager, PeepholeLevel::Scalars);
  manager.addPass(fagpu::createConvertMathToNVVMApproximationsPass());
  manager.addPass(fagpu::createFAGPUExpandMathPass());
  manager.addPass(createSCFToControlFlowPass());
  // Counters of channel uses become values.
  manager.addPass(createMem2Reg());
  // The last one: what the conversions leave behind the back end drops as well.
  addCleanUp(manager);
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertNVVMToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createFAVerifyLowered({/*kernelsOnly=*/true}));
}

void fa::buildFAGPUToPTXPipeline(OpPassManager &manager,
                                 const GPUCompileOptions &options) {
  GPULoweringOptions lowering;
  lowering.peepholes = options.peepholes;
  buildFAGPUToLLVMPipeline(manager, lowering);
  FAKernelsToBinaryPassOptions binary;
  binary.chip = options.chip;
  binary.format = options.format;
  binary.ptxVersion = options.ptxVersion;
  binary.failOnSpill = options.failOnSpill;
  manager.addPass(createFAKernelsToBinaryPass(binary));
}

void fa::registerGPUPipelines() {
  registerPipeline("fagpu-plan",
                   "From a GPU schedule to one with stages and resources",
                   buildFAGPUPlanPipeline);
  registerPipeline<GPULoweringOptions>(
      "fagpu-to-llvm", "From a GPU schedule to the LLVM dialect",
      buildFAGPUToLLVMPipeline);
  registerPipeline<GPUCompileOptions>(
      "fagpu-to-ptx", "From a GPU schedule to PTX or machine code",
      buildFAGPUToPTXPipeline);
}
