//===- BlockTensors.h - Blocks as matrices and rows on tensors ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the decompositions of a step, of its end and of a merge are written
// with: matrices (rows of a block x head dim or keys) and rows (a number each),
// as upstream operations on tensors.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_BLOCKTENSORS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_BLOCKTENSORS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {

/// A part of an operand, without the dimensions of which it has one.
struct BlockSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  /// The dimensions that stay.
  SmallVector<int64_t> dims;
  /// The head dim stays before the sequence.
  bool isTransposed = false;

  SmallVector<int64_t> getShape() const;
};

class BlockTensors {
public:
  using Sizes = ArrayRef<OpFoldResult>;
  /// A part of a tensor, or a view of memory.
  struct Destination {
    Value place;
    BlockSlice slice;
    OpFoldResult rows;
  };

  BlockTensors(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// A state as a tensor, whether it is in memory or not.
  Value loadState(Value state);
  /// The new states: none where they are in memory, which then holds them.
  SmallVector<Value> storeState(ValueRange values, ValueRange states);
  /// The matrix (sequence x head dim) of an operand of one batch and head.
  Value loadMatrix(Value operand, DimsAttr order);
  /// The numbers of an lse of one batch and head.
  Value loadRow(Value lse);
  /// A matrix or numbers of rows, with `padding` behind the last row, up to
  /// `rows`.
  Value padRows(Value tensor, OpFoldResult rows, float padding = 0.0f);
  /// The first rows of a tensor.
  Value firstRows(Value tensor, OpFoldResult rows);
  /// The first `rows` rows of an operand that is written, made before what is
  /// written there, so that it can be computed there.
  /// @{
  Destination getMatrix(Value operand, DimsAttr order, OpFoldResult rows);
  Destination getRow(Value operand, OpFoldResult rows);
  /// @}
  /// All that lies in a destination in memory, to be changed there and stored.
  /// @{
  Value loadForUpdate(const Destination &destination);
  void storeUpdate(Value tensor, const Destination &destination);
  /// @}
  /// Writes the first rows of a tensor. Returns the new tensor where the
  /// destination is one.
  Value store(Value tensor, const Destination &destination);

  SmallVector<OpFoldResult> getSizes(Value tensor);
  /// `value` everywhere, in the shape of a row or a matrix.
  Value splat(Value value, Sizes sizes);
  Value splat(float value, Sizes sizes);
  Value splatLike(float value, Value tensor) {
    return splat(value, getSizes(tensor));
  }
  /// Each number of a row along a row of a matrix of these sizes, or numbers of
  /// columns along each column.
  /// @{
  Value broadcast(Value row, Sizes sizes) {
    return broadcast(row, sizes, /*added=*/1);
  }
  Value broadcastColumns(Value numbers, Sizes sizes) {
    return broadcast(numbers, sizes, /*added=*/0);
  }
  /// @}
  /// The sum or the maximum of each row of a matrix and of `init`, or of all
  /// numbers of a row.
  template <typename OpTy> Value reduce(Value matrix, Value init);
  /// init + a * b. `dims` name the loops that index a, b and the result.
  Value contract(Value a, Value b, Value init,
                 ArrayRef<SmallVector<unsigned>> dims, ConfigAttr config);
  Value isEqual(Value tensor, float value);
  Value select(Value condition, Value isTrue, Value isFalse) {
    return arith::SelectOp::create(builder, loc, condition, isTrue, isFalse);
  }
  /// As f32, or narrower.
  /// @{
  Value extend(Value tensor);
  Value truncate(Value tensor, Type element);
  /// @}

  OpBuilder &builder;
  Location loc;

private:
  Value empty(Sizes sizes, Type element);
  Value broadcast(Value numbers, Sizes sizes, int64_t added);
  Value transpose(Value matrix);
  BlockSlice getMatrixSlice(Value operand, DimsAttr order, OpFoldResult rows);
  BlockSlice getRowSlice(Value operand, OpFoldResult rows);
  Destination getDestination(Value operand, BlockSlice slice,
                             OpFoldResult rows);
  Value load(Value operand, const BlockSlice &slice);
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_BLOCKTENSORS_H
