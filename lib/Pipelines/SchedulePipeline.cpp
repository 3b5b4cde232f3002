//===- SchedulePipeline.cpp - From attention to GPU schedules -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/SchedulePipeline.h"

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "fa/Pipelines/Peepholes.h"
#include "fa/Pipelines/RegisterPipeline.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void addCleanUp(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// Arithmetic of regions on 16-bit floats, which threads hold in pairs, by way
/// of f32.
static void addArithmeticOfHalves(OpPassManager &manager) {
  manager.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions options;
  options.sourceTypeStrs = {"f16", "bf16"};
  manager.addPass(arith::createArithEmulateUnsupportedFloats(options));
}

void fa::buildFAToSchedulePipeline(OpPassManager &manager,
                                   const ScheduleOptions &options) {
  FAOutlineKernelsPassOptions kernels;
  kernels.chip = options.chip;
  // The pass refuses what is no GPU, before a configuration is chosen for it.
  if (!lookupGPUTarget(options.chip)) {
    manager.addPass(createFAOutlineKernelsPass(kernels));
    return;
  }
  FAExpandDropoutOptions dropout;
  dropout.keepPairs = true;
  manager.addPass(createFAExpandDropout(dropout));
  manager.addPass(createFATruncateIndices());
  manager.addPass(createFASeparateResultsPass());
  // A transpose of an operand is an order of its dimensions, not a copy.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createFAIndexToArithPass());
  manager.addPass(createFAWidenUnsignedIndicesPass());
  addArithmeticOfHalves(manager);
  Level2Options level2;
  level2.chip = options.chip;
  buildFAToLevel2Pipeline(manager, level2);
  manager.addPass(createFACombineToState());
  manager.addPass(createLowerAffinePass());
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(createFAPutHeadDimsLastPass());
  manager.addNestedPass<func::FuncOp>(createFAPlanWorkPass());
  manager.addNestedPass<func::FuncOp>(createFAListBlocksPass());
  manager.addNestedPass<func::FuncOp>(createFATileElementwisePass());
  manager.addPass(createFAGuardDivisors());
  manager.addNestedPass<func::FuncOp>(createFATileCopiesPass());
  // A loop over one tile is to become a kernel too, not to be inlined.
  manager.addPass(createCSEPass());
  manager.addPass(createFAOutlineKernelsPass(kernels));
  manager.addNestedPass<func::FuncOp>(
      fagpu::createFAGPUPredicateLaunchesPass());
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(createFADecomposeToBlocksPass());
  addCleanUp(manager);
  manager.addPass(createFAForwardCopiesPass());
  // Kernels of the copies that are left.
  manager.addNestedPass<func::FuncOp>(createFATileCopiesPass());
  manager.addPass(createFAOutlineKernelsPass(kernels));
  {
    OpPassManager &functions = manager.nest<func::FuncOp>();
    addCleanUp(functions);
    functions.addPass(createFAGPUDropMaximumPass());
    functions.addPass(createFAGPUExponentsToBase2Pass());
    functions.addPass(createFAGPUSkipEmptyRowCheckPass());
    functions.addPass(createFAGPUPartialSumsPass());
    functions.addPass(createFAGPUSkipFirstRescalePass());
    addCleanUp(functions);
    if (options.peepholes)
      addPeepholes(functions, PeepholeLevel::BlockValues);
    functions.addPass(createFAFormSegmentsPass());
    functions.addPass(createFANarrowIndicesPass());
    addCleanUp(functions);
    functions.addPass(createFAGPUSplitColumnsPass());
    functions.addPass(createFAGPUSplitProductsPass());
    functions.addPass(createCSEPass());
    functions.addPass(createFAGPUShareOperandsPass());
    functions.addPass(createFAGPUFormChannelsPass());
    functions.addPass(createFAGPUSelectProductsPass());
    functions.addPass(createFAGPUSinkWaitsPass());
    functions.addPass(createFAGPUJoinProductsPass());
    functions.addPass(createFAGPUDivideColumnsPass());
    functions.addPass(createFAGPUShareScalarsPass());
    functions.addPass(createFAGPUSplitRolesPass());
    addCleanUp(functions);
    functions.addPass(fagpu::createFAGPUMulticastPass());
  }
  manager.addPass(createFAGPUPersistPass());
  addCleanUp(manager);
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUCarryQuotientsPass());
  manager.addPass(createFAGPUComputeOnHostPass());
  addCleanUp(manager);
  manager.addPass(fagpu::createFAGPUOverlapLaunchesPass());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(fagpu::createFAGPUDeferPutsPass());
  functions.addPass(fagpu::createFAGPUInferLayoutsPass());
  functions.addPass(fagpu::createFAGPUAssignSlotsPass());
  functions.addPass(createFAGPUAssignExchangeSlotsPass());
  functions.addPass(createFAGPUAssignWriteSlotsPass());
  functions.addPass(createFAGPUAssignGroupSlotsPass());
}

void fa::registerSchedulePipeline() {
  registerPipeline<ScheduleOptions>("fa-to-schedule",
                                    "From level 0 to a GPU schedule (level 4)",
                                    buildFAToSchedulePipeline);
}
