//===- RewriteGreedily.h - Patterns to the end ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_REWRITEGREEDILY_H
#define FA_LIB_CONVERSION_FATOFAGPU_REWRITEGREEDILY_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fa {

/// Applies the patterns in an operation until none of them matches.
template <typename... Patterns> LogicalResult rewriteGreedily(Operation *op) {
  RewritePatternSet patterns(op->getContext());
  patterns.add<Patterns...>(op->getContext());
  return applyPatternsGreedily(op, std::move(patterns));
}

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_REWRITEGREEDILY_H
