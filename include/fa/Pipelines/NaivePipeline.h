//===- NaivePipeline.h - Standard attention on a CPU -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_NAIVEPIPELINE_H
#define FA_PIPELINES_NAIVEPIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::fa {

struct NaiveOptions : public PassPipelineOptions<NaiveOptions> {
  Option<bool> stock{
      *this, "stock",
      llvm::cl::desc("Plain loops by upstream passes alone, on one thread: a "
                     "check that shares nothing with this project's CPU "
                     "passes. Otherwise register tiles and threads: a "
                     "baseline for speed"),
      llvm::cl::init(false)};
};

/// Attention that materialises its scores (`fa-naive`), to the LLVM dialect.
void buildNaiveToCPUPipeline(OpPassManager &manager,
                             const NaiveOptions &options = NaiveOptions());

/// Registers `fa-naive-to-cpu`.
void registerNaivePipeline();

} // namespace mlir::fa

#endif // FA_PIPELINES_NAIVEPIPELINE_H
