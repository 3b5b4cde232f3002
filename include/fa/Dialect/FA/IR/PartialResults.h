//===- PartialResults.h - Results over parts of the keys ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An attention whose keys are split gives, for each part, an output and an lse
// in f32 (Dao et al. 2023, "Flash-Decoding"). They are kept in one value each,
// with the parts as the leading dimension, and merged in the order of the keys.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_PARTIALRESULTS_H
#define FA_DIALECT_FA_IR_PARTIALRESULTS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Outputs (parts x the shape of the output) and lses (parts x batch x heads x
/// queries) of all parts, both f32, tensors or memrefs as the operation's.
struct PartialResults {
  Value outputs, lses;
};

/// Sizes of `outputs` and of `lses` for `parts` parts of the keys of `op`.
std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
getPartialResultSizes(OpBuilder &builder, AttentionOp op, OpFoldResult parts);

/// Merges at least two parts into the destinations of `op`, one after the
/// other. Returns the operation that writes the destinations.
CombineOp combinePartialResults(OpBuilder &builder, AttentionOp op,
                                PartialResults partial, int64_t parts);

/// A copy of `op` over the keys [begin, begin + size), part `number`, that
/// writes its output and lse to `output` and `lse`.
AttentionOp createPartialAttention(OpBuilder &builder, AttentionOp op,
                                   OpFoldResult begin, OpFoldResult size,
                                   OpFoldResult number, Value output,
                                   Value lse);

/// Makes the sink of `op` (without one, -inf) `otherwise` where the condition,
/// an i1 in front of `op`, does not hold.
void keepSinkWhere(OpBuilder &builder, AttentionOp op, Value condition,
                   const APFloat &otherwise);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_PARTIALRESULTS_H
