//===- RegisterPipeline.h - Registration of pipelines -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_REGISTERPIPELINE_H
#define FA_PIPELINES_REGISTERPIPELINE_H

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::fa {

struct NoPipelineOptions : PassPipelineOptions<NoPipelineOptions> {};

/// Registers a pipeline without options. With upstream's registration for those
/// an option on the command line ends the program without a message.
inline void registerPipeline(StringRef name, StringRef description,
                             std::function<void(OpPassManager &)> build) {
  PassPipelineRegistration<NoPipelineOptions>(
      name, description,
      [build = std::move(build)](OpPassManager &manager,
                                 const NoPipelineOptions &) {
        build(manager);
      });
}

} // namespace mlir::fa

#endif // FA_PIPELINES_REGISTERPIPELINE_H
