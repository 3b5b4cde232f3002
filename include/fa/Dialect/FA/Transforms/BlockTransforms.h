//===- BlockTransforms.h - From key ranges to linalg ----------------------===//
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

/// Replaces `ranges` by one loop for each range, as `fa-expand-key-ranges`
/// does.
void expandKeyRanges(RewriterBase &rewriter, KeyRangesOp ranges);

/// Largest number of keys of a step that the IR proves, or failure after a
/// diagnostic.
FailureOr<int64_t> getKeyBound(OnlineAttentionOp step);

/// Replaces a step, a finalize or a combine by operations on blocks, as
/// `fa-decompose-step` does.
LogicalResult decomposeStep(RewriterBase &rewriter, Operation *op);

/// Replace an operation on memrefs by linalg operations, as `fa-decompose`
/// does.
LogicalResult decomposeOnlineAttention(RewriterBase &rewriter,
                                       OnlineAttentionOp step);
LogicalResult decomposeFinalize(RewriterBase &rewriter, FinalizeOp finalize);
LogicalResult decomposeCombine(RewriterBase &rewriter, CombineOp combine);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_BLOCKTRANSFORMS_H
