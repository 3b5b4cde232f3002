//===- PipelineText.h - Pipelines as text -----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_PIPELINETEXT_H
#define FA_DRIVER_PIPELINETEXT_H

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace mlir::fa {

/// What is wrong with the options of a pass or pipeline of this project: the
/// message says which ones it has, where MLIR's own names none. Other passes
/// are not looked at.
llvm::Error checkOptions(StringRef name, StringRef options);

/// The same for all NAME{OPTIONS} of a textual pipeline.
llvm::Error checkPipelineOptions(StringRef text);

/// Adds the passes of a text to a manager of modules: `canonicalize,fa-to-cpu`,
/// or the same in `builtin.module(...)`.
llvm::Error addPipeline(PassManager &manager, StringRef text);

} // namespace mlir::fa

#endif // FA_DRIVER_PIPELINETEXT_H
