//===- BlockTransforms.h - From key ranges to blocks ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The free functions behind the passes of BlockPasses.td. Each fails without
// changing the IR, after one diagnostic.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_BLOCKTRANSFORMS_H
#define FA_DIALECT_FA_TRANSFORMS_BLOCKTRANSFORMS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// The scale of a step that names none.
float getDefaultScale(AttentionLikeOpInterface step);

/// `scores` times `factors`, which are the scale of `step`, marked where that
/// is the default. A step asks for no rounding of its own between scale and
/// sum, or between scale and another factor.
Value scaleScores(OpBuilder &builder, AttentionLikeOpInterface step,
                  Value scores, Value factors);

/// Replaces `ranges` by one loop for each range, as `fa-expand-key-ranges`
/// does.
void expandKeyRanges(RewriterBase &rewriter, BlockRangesOpInterface ranges);

/// Replaces `apply` by a linalg operation, as `fa-apply-to-linalg` does.
LogicalResult convertApplyToLinalg(RewriterBase &rewriter, ApplyOp apply);

/// Replaces a step, a finalize or a combine by operations on blocks, as
/// `fa-decompose-step` does.
LogicalResult decomposeStep(RewriterBase &rewriter, Operation *op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_BLOCKTRANSFORMS_H
