//===- RewriteGreedily.h - Patterns to the end ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_BLOCKVALUES_REWRITEGREEDILY_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_BLOCKVALUES_REWRITEGREEDILY_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fagpu {

/// Applies the patterns in an operation until none of them matches.
template <typename... Patterns> LogicalResult rewriteGreedily(Operation *op) {
  RewritePatternSet patterns(op->getContext());
  patterns.add<Patterns...>(op->getContext());
  return applyPatternsGreedily(op, std::move(patterns));
}

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_BLOCKVALUES_REWRITEGREEDILY_H
