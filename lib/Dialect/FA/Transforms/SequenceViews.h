//===- SequenceViews.h - Where the rows of a sequence are -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCEVIEWS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCEVIEWS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// The rows of one sequence in an operand, and whether what says so can be;
/// null where nothing says so.
struct SequenceRows {
  Value first, count, isValid;
};

/// An operand with its batch in front: one of size 1 where there is none.
struct RowView {
  Value memory;
  DimsAttr order;
};

/// Builds views of the rows of packed sequences, on memrefs.
class SequenceViews {
public:
  SequenceViews(RewriterBase &rewriter, Location loc)
      : rewriter(rewriter), loc(loc) {}

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value toValue(OpFoldResult value);
  Value isAtMost(Value a, Value b) {
    return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sle, a,
                                 b);
  }
  Value both(Value a, Value b) {
    return arith::AndIOp::create(rewriter, loc, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(rewriter, loc, condition, a, b);
  }
  Value getSize(Value operand, DimsAttr order, DimKind kind);
  /// An entry of a table of i32, as an index.
  Value load(Value table, ValueRange indices);
  /// The number of sequences, by their starts or the operand's batch.
  OpFoldResult countSequences(Value starts, Value operand, DimsAttr order);
  /// The rows of a sequence that an operand of `capacity` rows, or of so many
  /// for each sequence, holds. With lengths that cannot be, all rows where
  /// `keepRows`.
  SequenceRows findRows(Value starts, Value lengths, Value capacity,
                        Value batch, bool keepRows);
  /// Whether one of the pages `first` to `end` of a sequence is not among the
  /// first `inPools` ones.
  Value isAnyPageWrong(Value table, Value batch, Value first, Value end,
                       Value inPools);
  /// The operand with a batch.
  RowView view(Value operand, DimsAttr order);
  /// A view with one more dimension in front, of size 1.
  Value addBatch(Value memory);
  /// Rows `first` to `first` + `count` of a sequence, of `heads` heads (absent:
  /// one).
  Value slice(const RowView &view, Value batch, const SequenceRows &rows,
              OpFoldResult first, OpFoldResult count, OpFoldResult head,
              OpFoldResult heads = {});
  /// The same of batch x heads x rows, of which `batch` is taken (null: the
  /// only one).
  Value sliceNumbers(Value numbers, Value batch, const SequenceRows &rows,
                     OpFoldResult first, OpFoldResult count, OpFoldResult head,
                     OpFoldResult heads = {});

protected:
  RewriterBase &rewriter;
  Location loc;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCEVIEWS_H
