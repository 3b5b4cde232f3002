//===- Level2Pipeline.cpp - From problems to tiled attention --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/Level2Pipeline.h"

#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Sequences.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "fa/Pipelines/RegisterPipeline.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa::buildExpandAppliesPipeline(OpPassManager &manager,
                                    bool drawsInBlocks) {
  FAExpandDropoutOptions dropout;
  dropout.keepPairs = drawsInBlocks;
  manager.addPass(createFAExpandDropout(dropout));
  manager.addPass(createFATruncateIndices());
  manager.addPass(createFAGuardDivisors());
  manager.addPass(createFAApplyToLinalg());
}

void fa::buildFAToLevel2Pipeline(OpPassManager &manager,
                                 const Level2Options &options) {
  // Regions of gradients are looked at like any other from here on.
  manager.addPass(createFADifferentiateScore());
  buildExpandAppliesPipeline(
      manager, /*drawsInBlocks=*/lookupGPUTarget(options.chip) != nullptr);
  manager.addPass(createFAResultsToOutParameters());
  manager.addPass(createFABatchSharedKeys());
  FAPackHeadsOptions packing;
  // A GPU has no sink that depends on the row.
  packing.sinks = !lookupGPUTarget(options.chip);
  manager.addPass(createFAPackHeads(packing));
  if (lookupGPUTarget(options.chip)) {
    FAGatherPagesOptions gathering;
    gathering.chip = options.chip;
    manager.addPass(createFAGatherPages(gathering));
  }
  FASelectConfigOptions selection;
  selection.chip = options.chip;
  manager.addPass(createFASelectConfig(selection));
  manager.addPass(createFAVersionLengths());
  manager.addPass(createFAVersionBounds());
  manager.addPass(createFASplitKeys());
  manager.addPass(createFASplitKV());
  if (lookupGPUTarget(options.chip))
    manager.addPass(createFAAppendToThreads());
  else
    manager.addPass(createFAAppendToLoops());
  manager.addPass(createFASequenceErrorsToLoops());
  manager.addPass(createFATile());
  manager.addPass(createFATileGradient());
  manager.addPass(createFAConvertToOnline());
  // The mask analysis reads bounds best in their canonical form.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createFASpecializeMask());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void fa::registerLevel2Pipeline() {
  registerPipeline<Level2Options>(
      "fa-to-level2", "From level 0 or 1 to tiled attention (level 2)",
      buildFAToLevel2Pipeline);
}
