//===- BlockViews.h - Views and loops over one block ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What packing and decomposition share: both turn operations on one block of
// one batch and head into linalg operations on plain matrices.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_BLOCKVIEWS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_BLOCKVIEWS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace mlir::fa {

/// Builds the operations on one block. Each gets the register tile that the
/// block's configuration names, for the pass that vectorises it.
class BlockBuilder {
public:
  BlockBuilder(OpBuilder &builder, Location loc, ConfigAttr config);

  /// The matrix (sequence x head dim) of an operand with one batch and one
  /// head; only the first `rows` rows where given.
  Value matrix(Value operand, DimsAttr order, OpFoldResult rows = {});
  /// The first `rows` rows of a matrix or vector.
  Value firstRows(Value view, OpFoldResult rows);
  /// Uninitialised f32 memory of this scope. Rows of a matrix lie an odd
  /// number of cache lines apart where they fill whole lines.
  Value scratch(ArrayRef<int64_t> shape);

  Value constant(float value);
  void fill(Value view, float value);
  /// One `linalg.generic` over loops of these kinds; `maps` name the loops
  /// that index each operand in turn. The body gets a scalar of each.
  void generic(ArrayRef<utils::IteratorType> iterators,
               ArrayRef<SmallVector<unsigned>> maps, ValueRange inputs,
               ValueRange outputs,
               function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body);

  OpBuilder &builder;
  Location loc;

private:
  void annotate(Operation *op);
  CPUConfigAttr tile;
};

constexpr auto parallelLoop = utils::IteratorType::parallel;
constexpr auto reductionLoop = utils::IteratorType::reduction;

/// `value` as f32, or as `type` where that is narrower.
Value extendToF32(OpBuilder &builder, Location loc, Value value);
Value truncateTo(OpBuilder &builder, Location loc, Value value, Type type);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_BLOCKVIEWS_H
