//===- Dropout.h - Random factors of weights --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_DROPOUT_H
#define FA_DIALECT_FA_TRANSFORMS_DROPOUT_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// On ranges: each begins at a multiple of the step.
constexpr StringLiteral alignedRangesAttrName = "fa.aligned_ranges";

/// Whether a score function has a factor by `fa.dropout`.
inline bool drawsDropout(Region &score) {
  return !score.empty() && !score.getOps<DropoutOp>().empty();
}

/// What all pairs of one batch item and head have in common, as i32, and what
/// a weight that is kept is multiplied by, as f32. See `fa.dropout`.
struct DropoutWords {
  Value counter2, counter3, key0, key1;
  /// Numbers below it are dropped.
  Value threshold;
  Value factor;
};

/// Computes them from the operands of `op`, which stand at `batch` and `head`.
DropoutWords createDropoutWords(OpBuilder &builder, Location loc, Value p,
                                Value seed, Value offset, Value batch,
                                Value head);

/// Whether the indices are those of the pair that a region of attention or of
/// its gradient sees, as blocks of pairs draw them.
bool isAtOwnPair(DropoutOp op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_DROPOUT_H
