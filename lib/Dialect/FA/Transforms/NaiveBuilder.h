//===- NaiveBuilder.h - Matrices of one head, as tensors or memrefs -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_NAIVEBUILDER_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_NAIVEBUILDER_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// The part of an operand with one batch and one head, without these two
/// dimensions, and where it lies in the operand.
struct NaiveMatrix {
  Value value;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  /// The sequence comes after the head dim.
  bool isSwapped = false;

  /// Which loops index the matrix, given those of sequence and head dim.
  SmallVector<unsigned> getMap(unsigned sequence, unsigned headDim) const {
    if (isSwapped)
      return {headDim, sequence};
    return {sequence, headDim};
  }
};

/// Writes linalg operations that are the same on tensors and on memrefs.
class NaiveBuilder {
public:
  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  NaiveBuilder(OpBuilder &builder, Location loc, bool onTensors)
      : builder(builder), loc(loc), onTensors(onTensors) {}

  Value index(int64_t value);
  Value constant(float value);

  /// The first `rows` positions of a rank-4 operand.
  NaiveMatrix getMatrix(Value operand, DimsAttr order, OpFoldResult rows);
  /// The first `rows` elements of an lse of 1 x 1 x rows.
  NaiveMatrix getRow(Value lse, OpFoldResult rows);
  /// A tensor that holds `part` where `matrix` lies in `whole`; nothing on
  /// memrefs, where it is written already.
  Value insert(Value part, Value whole, const NaiveMatrix &matrix);

  /// An f32 tensor or an allocation, which `freeScratch` frees.
  Value getScratch(ArrayRef<OpFoldResult> sizes);
  Value getFilled(ArrayRef<OpFoldResult> sizes, float value);
  void freeScratch();

  /// A linalg.generic; returns its result, or the memref that it wrote.
  /// `maps` hold the loops that index each input and the output.
  Value generic(ArrayRef<utils::IteratorType> iterators,
                ArrayRef<SmallVector<unsigned>> maps, ValueRange inputs,
                Value output, Body body);

  Value extend(OpBuilder &nested, Value value);
  Value truncate(OpBuilder &nested, Value value, Type type);

  OpBuilder &builder;

private:
  NaiveMatrix getSlice(Value operand, SmallVector<OpFoldResult> sizes,
                       ArrayRef<int64_t> shape);

  Location loc;
  bool onTensors;
  SmallVector<Value> allocations;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_NAIVEBUILDER_H
