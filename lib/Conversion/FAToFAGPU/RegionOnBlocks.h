//===- RegionOnBlocks.h - Score and mask regions on block values ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a score or mask region for all pairs of a block at once.
// `PairBlock` says which pairs; begin with `apply`, then `convert`, and `add`
// for what a gradient adds to captures. Private functions are in
// RegionOnBlocks.cpp up to the first name of a file, and then in the file that
// a comment names.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_REGIONONBLOCKS_H
#define FA_LIB_CONVERSION_FATOFAGPU_REGIONONBLOCKS_H

#include "IndexRanges.h"
#include "IndexWidths.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {

/// A block of (query, key) pairs. Scalars are of type index.
struct PairBlock {
  Value batch, head;
  /// The first query and the first key.
  Value query, key;
  /// Valid queries and keys of this batch.
  Value queries, keys;
  int64_t rows = 0, columns = 0;
  /// Warps that the rows are spread over.
  unsigned warps = 0;
  /// Whether boxes of captured memory come by bulk copies.
  bool hasTiles = false;
  /// Whether rows are keys and columns are queries.
  bool rowsAreKeys = false;

  Value firstRow() const { return rowsAreKeys ? key : query; }
  Value firstColumn() const { return rowsAreKeys ? query : key; }
  Value validRows() const { return rowsAreKeys ? keys : queries; }
  Value validColumns() const { return rowsAreKeys ? queries : keys; }
};

/// The pairs at `offsets` (batch, head, query, key), among `extents` (queries,
/// keys), that the warps of `role` have. Rows and columns are left to set.
PairBlock getPairBlock(ValueRange offsets, ValueRange extents,
                       fagpu::RoleOp role);

/// What the region of a score's gradient adds to the gradient of a capture.
struct ScatteredBlock {
  ScatterGradientOp op;
  /// Of each pair, as a matrix.
  Value values;
  SmallVector<Value> indices;
};

/// Computes the scalar operations of a region on block values. A value that
/// depends on no index of a pair is a scalar, on the row's index alone a vector
/// of rows, on the column's alone a vector of columns, else a matrix. Rows are
/// queries and columns keys, or the other way round. Index values of
/// vectors and matrices are i32, or i64 behind a product that may need it.
class RegionOnBlocks {
public:
  /// What does not depend on the column goes to `outside`, where it is computed
  /// once for all blocks of columns; the rest to `inside`.
  RegionOnBlocks(OpBuilder &outside, OpBuilder &inside, Location loc,
                 const PairBlock &place)
      : outside(outside), inside(inside), loc(loc), place(place),
        ranges(place.queries, place.keys) {}

  /// What the region yields first, as a matrix. `inputs` are its arguments of
  /// each pair: a score function's score, none of a mask. Fails with a
  /// diagnostic where an operation has no form on block values. Additions to
  /// gradients of captures go to `scattered`, or are left out. What it yields
  /// besides goes to `second`.
  FailureOr<Value> apply(Region &region, ValueRange inputs, ValueRange captures,
                         Value *second = nullptr,
                         SmallVectorImpl<ScatteredBlock> *scattered = nullptr);

  /// Of ordered sums: indices of the dimensions in front of those of a region,
  /// of which each warp has its own in the first one where it adds one number
  /// for all pairs, and the number of the group's first warp.
  struct OrderedPlace {
    SmallVector<Value> indices;
    Value firstWarp;
  };

  /// CapturedAdditions.cpp. Adds a matrix of f32 to the elements of memory that
  /// `indices` of a region name. What pairs of a row, or all pairs of a warp,
  /// share is summed up before. An index out of bounds adds nothing.
  LogicalResult add(Value values, Value memory, ArrayRef<Value> indices,
                    const OrderedPlace *ordered = nullptr);

  /// Whether each column of the block is below `end`, as a matrix of i1.
  Value isBelow(Value end);

private:
  enum class Kind { Scalar, Row, Column, Matrix };

  static Kind kindOf(Value value);
  static Kind join(Kind a, Kind b);
  OpBuilder &builderOf(Kind kind) {
    return kind == Kind::Scalar || kind == Kind::Row ? outside : inside;
  }
  RankedTensorType typeOf(Kind kind, Type element);
  Value spread(Value value, Kind kind);
  Value makeIndex(Kind kind);
  Value create(Operation *like, ValueRange operands, Kind kind, Type element);
  void saturate(Value &scalar);
  Value multiplyByScalar(Value value, Value scalar, arith::FastMathFlags flags);
  Value multiplyByReciprocal(Operation *op, ValueRange operands, Kind kind);
  void setRange(Value argument, Value capture);
  Value computeScalar(Operation *op, ValueRange operands);
  FailureOr<Value> convert(Operation *op, const IRMapping &mapping);
  /// DrawDropout.cpp.
  FailureOr<Value> draw(DropoutOp op, const IRMapping &mapping);
  /// CapturedLoads.cpp.
  Value load(memref::LoadOp op, const IRMapping &mapping);
  Value loadTile(memref::LoadOp op, Value memory, ArrayRef<Value> indices);
  Value loadScalar(memref::LoadOp op, Value memory, ArrayRef<Value> indices,
                   Value inBounds);
  Value guard(Value mapped, Value memory, unsigned dim, Value also);
  /// Where elements of memory are: i32 indices, and which of them are in bounds
  /// (null: all), by elements and of all pairs alike. `firstDim` of the memory
  /// is that of the first index.
  struct Places {
    Kind kind = Kind::Scalar;
    SmallVector<Value> indices;
    Value mask, inBounds;
  };
  Places locate(Value memory, ArrayRef<Value> indices, bool ofRows,
                unsigned firstDim = 0);
  /// KeyComparisons.cpp.
  static std::pair<Value, tensor::SplatOp> takeScalar(Operation *op);
  Value matchQueryOffset(Value bound);
  bool isSumOfIndices(Value value);
  Value asIndex(Value scalar);
  Value makeRelative(Value bound);
  Value compareKey(arith::CmpIPredicate predicate, Value bound);
  Value compareQuery(arith::CmpIPredicate predicate, Value bound);
  Value compareColumn(arith::CmpIPredicate predicate, Value relative);
  Value matchKeyBound(Operation *op, ValueRange operands);
  /// WideIndices.cpp. Whether a block has indices of 64 bits.
  static bool isWideBlock(Value value);
  bool isWide(Operation *op, ValueRange operands);
  bool isQueryOffset(Value value);
  bool isKeyBound(Operation *op, ValueRange operands);
  Value widen(Value value, Kind kind);
  Value castIndex(Operation *cast, Value value, Kind kind);

  OpBuilder &outside, &inside;
  Location loc;
  const PairBlock &place;
  IndexRanges ranges;
  IndexWidths widths;
  Value queryIndex, keyIndex;
  /// The key of a pair, as the region has it.
  Value keyArgument;
  /// Values that the region computes as integers, where they wrap.
  llvm::DenseSet<Value> integers;
  bool isScore = false;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_REGIONONBLOCKS_H
