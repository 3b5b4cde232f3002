//===- PairTensors.h - Scores of the pairs of a block -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the steps of attention and of its gradients have in common: the scores
// of the pairs of a block, as a matrix whose rows are those of the state.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_PAIRTENSORS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_PAIRTENSORS_H

#include "BlockTensors.h"

namespace mlir::fa {

class PairTensors {
public:
  /// Rows are queries, or keys; `rows` of the state.
  PairTensors(OpBuilder &builder, AttentionLikeOpInterface step,
              ConfigAttr config, bool rowsAreKeys, OpFoldResult rows);

  /// An operand of the rows, with zeros behind its last row, in front of the
  /// loops over columns that change neither it nor what lies there.
  Value loadRows(Value operand, DimsAttr order);
  /// Numbers of the rows, in the same place.
  Value loadRowNumbers(Value numbers, float padding);

  /// rows * columns^T, of two matrices.
  Value multiply(Value rows, Value columns);
  Value applyScale(Value scores);
  /// The score region, with its factors of weights where it has them.
  struct Scores {
    Value values, factors;
  };
  Scores applyScore(Value scores);
  /// Values times their factors, if there are any.
  Value applyFactors(Value values, const Scores &scores);
  /// `hidden` for the pairs that the mask hides. Where the step is in ranges it
  /// hides none in full ones.
  Value applyMask(Value values, float hidden);
  /// A region on pairs of this block, with values of `inputs` as elements.
  ApplyOp apply(Region &region, ValueRange inputs, TypeRange types,
                ValueRange captures);

  ArrayRef<OpFoldResult> getSizes() const { return sizes; }
  ValueRange getOffsets() const { return offsets; }
  ValueRange getExtents() const { return extents; }
  bool areRowsKeys() const { return rowsAreKeys; }

private:
  Value loadInFront(Value operand, function_ref<Value()> load);
  Value hide(Value values, float hidden);

  AttentionLikeOpInterface step;
  BlockTensors block;
  ConfigAttr config;
  bool rowsAreKeys;
  /// Rows x columns.
  SmallVector<OpFoldResult> sizes;
  SmallVector<Value> offsets, extents;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_PAIRTENSORS_H
