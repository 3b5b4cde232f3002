//===- NaivePipeline.cpp - Standard attention on a CPU --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/NaivePipeline.h"

#include "fa/Conversion/CPU/Passes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Sequences.h"
#include "fa/Pipelines/CPUPipeline.h"
#include "fa/Pipelines/RegisterPipeline.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa::buildNaiveToCPUPipeline(OpPassManager &manager,
                                 const NaiveOptions &options) {
  manager.addPass(createFAExpandDropout());
  manager.addPass(createFATruncateIndices());
  manager.addPass(createFAGuardDivisors());
  manager.addPass(createFAResultsToOutParameters());
  manager.addPass(createFAAppendToLoops());
  manager.addPass(createFASequenceErrorsToLoops());
  manager.addPass(createFANaive());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.stock) {
    manager.addPass(createConvertLinalgToLoopsPass());
    manager.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  } else {
    manager.addPass(createFAVectorizeLanes());
  }
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  if (!options.stock) {
    manager.addPass(createFAExpandMath());
    manager.addPass(createFAOutlineParallel());
  }
  buildLowerToLLVMPipeline(manager);
}

void fa::registerNaivePipeline() {
  registerPipeline<NaiveOptions>(
      "fa-naive-to-cpu",
      "From attention to the LLVM dialect, with all scores in memory",
      buildNaiveToCPUPipeline);
}
