//===- Folds.h - Patterns that simplify operations of the fa dialect ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_IR_FOLDS_H
#define FA_LIB_DIALECT_FA_IR_FOLDS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Each for attention, its gradient, and the steps of both.
/// @{
/// Regions that do nothing, and captures that are unused, given twice or
/// constant.
void populateRegionFolds(RewritePatternSet &patterns);
/// Comparisons of a mask in one normal form.
void populateMaskFolds(RewritePatternSet &patterns);
/// Transposes and casts of operands and results.
void populateOperandFolds(RewritePatternSet &patterns);
/// @}

/// Gradients of attention over no pairs.
void populateEmptyGradientFolds(RewritePatternSet &patterns);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_IR_FOLDS_H
