//===- SchedulePipeline.h - From attention to GPU schedules -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_SCHEDULEPIPELINE_H
#define FA_PIPELINES_SCHEDULEPIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::fa {

struct ScheduleOptions : public PassPipelineOptions<ScheduleOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("Target of the kernels, sm_80 or "
                                          "later"),
                           llvm::cl::init("sm_80")};
  Option<bool> peepholes{*this, "peepholes",
                         llvm::cl::desc("Run passes that only make kernels "
                                        "faster"),
                         llvm::cl::init(true)};
};

/// From level 0 to a schedule of products of a warp and asynchronous copies
/// (level 4), which runs on every chip from sm_80 up.
void buildFAToSchedulePipeline(OpPassManager &manager,
                               const ScheduleOptions &options);

void registerSchedulePipeline();

} // namespace mlir::fa

#endif // FA_PIPELINES_SCHEDULEPIPELINE_H
