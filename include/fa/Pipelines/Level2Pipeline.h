//===- Level2Pipeline.h - From problems to tiled attention -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_LEVEL2PIPELINE_H
#define FA_PIPELINES_LEVEL2PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::fa {

struct Level2Options : public PassPipelineOptions<Level2Options> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("Whose tables choose a missing config; see "
                     "fa-select-config"),
      llvm::cl::init("cpu")};
};

/// From level 0 or 1 to level 2, where every target starts: query blocks of
/// one head in scf.forall, key blocks in fa.key_ranges, fa.online_attention as
/// the step. Modules that are at level 2 already stay as they are.
void buildFAToLevel2Pipeline(OpPassManager &manager,
                             const Level2Options &options = Level2Options());

/// What functions compute on pairs beside attention, as linalg. To run before
/// results become arguments, as `buildFAToLevel2Pipeline` does. `drawsInBlocks`
/// leaves dropout of attention to blocks of pairs.
void buildExpandAppliesPipeline(OpPassManager &manager,
                                bool drawsInBlocks = false);

/// Registers `fa-to-level2`.
void registerLevel2Pipeline();

} // namespace mlir::fa

#endif // FA_PIPELINES_LEVEL2PIPELINE_H
