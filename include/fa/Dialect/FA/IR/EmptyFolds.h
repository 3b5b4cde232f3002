//===- EmptyFolds.h - Attention over nothing --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_EMPTYFOLDS_H
#define FA_DIALECT_FA_IR_EMPTYFOLDS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Replaces a gradient without pairs, as its static sizes say, by zeros in all
/// of its destinations. Fails where there may be pairs, and for packed
/// sequences, of which a broken one has NaN as gradients.
LogicalResult fillGradientWithoutPairs(RewriterBase &rewriter,
                                       AttentionGradientOp op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_EMPTYFOLDS_H
