//===- Peepholes.h - Passes that only make kernels faster -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_PEEPHOLES_H
#define FA_PIPELINES_PEEPHOLES_H

#include "mlir/Pass/PassManager.h"

namespace mlir::fa {

/// What peepholes match.
enum class PeepholeLevel {
  /// Block values of a kernel, behind the decomposition of its steps.
  BlockValues,
  /// Indices of block values that have layouts.
  Indices,
  /// The values of one thread.
  Scalars
};

/// Adds the peepholes of a level, in their order. The pipelines to GPU
/// schedules and PTX do without them for `peepholes=false`: kernels compute the
/// same, up to rounding, and more slowly. docs/GPU/Peepholes.md lists them.
void addPeepholes(OpPassManager &manager, PeepholeLevel level);

} // namespace mlir::fa

#endif // FA_PIPELINES_PEEPHOLES_H
