//===- PairsTile.h - One tile of pairs on block values ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a block of queries of attention and a block of its gradients have in
// common: slices of the kernel's memory, the rows of a group of warps, scores
// and masks. QueryBlock.h and GradientBlock.h build on it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_PAIRSTILE_H
#define FA_LIB_CONVERSION_FATOFAGPU_PAIRSTILE_H

#include "Blocks.h"
#include "RegionOnBlocks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::fa {

/// Products take 16 columns at once; those beyond a head dim are zeros.
int64_t padColumns(int64_t headDim);

/// Where the head dim ends in memory, in a row of so many columns from `first`
/// on; null where it fills the row.
Value boundColumns(OpBuilder &builder, Location loc, Value first,
                   int64_t headDim, int64_t columns);

/// Bytes, at most 16, that rows of a head dim start at multiples of where they
/// are packed one after the other, and by what else is known of the memory.
int64_t getAlignment(MemRefType memory, int64_t headDim);

/// Whether the rows of a slice lie in pages.
bool isPaged(Value memory);

/// A slice of a kernel's argument.
struct Tile {
  Value memory;
  /// Of the slice in the memory, and its sizes, by dimension.
  SmallVector<Value> offsets;
  SmallVector<OpFoldResult> sizes;
  /// Of the memory, where it is not that of the slice: a pool of pages.
  DimsAttr order;
  /// Whether the page is one of the pool.
  Value isPage;
  /// The table of pages that the rows are found by one by one; offsets then say
  /// the sequence in place of the page. Null for a slice of one page.
  Value pages;
};

/// Where the valid ones of a sequence end, and the first one of a slice, among
/// all of them.
struct EndOfSequence {
  Value end, place;
  /// Whether the memory of a piece may end before.
  bool mayExceedMemory = false;
};

/// A block of rows, of which each group of warps has a part, and the blocks of
/// columns that it visits.
class PairsTile {
public:
  explicit PairsTile(Operation *root) : root(root) {}

protected:
  /// Of the role that `root` stands in; fails with a diagnostic outside of one.
  LogicalResult findRole();
  /// The rows of a group, of those of the block.
  LogicalResult divideRows(int64_t blockRows);
  /// That blocks of columns are whole tiles of products.
  LogicalResult checkColumns(Operation *step, StringRef what);
  LogicalResult checkOrders(Operation *step, ArrayRef<DimsAttr> orders);

  /// Rows in pages lie in one page, where `isInPage`, or else in any.
  FailureOr<Tile> resolve(OpBuilder &builder, Operation *user, Value memory,
                          bool isInPage = true);
  /// The place in its pool of a slice that lies in one page.
  void findPage(OpBuilder &builder, PagedRowsOp rows, Tile &tile);
  /// `rows` of a slice of one batch and one head, from row `shiftBy` on (null:
  /// the first one); without `end`, up to the end of the slice.
  FailureOr<Value> fetch(OpBuilder &builder, Operation *user, Value memory,
                         DimsAttr order, int64_t rows,
                         std::optional<EndOfSequence> end, Value shiftBy = {});
  /// The same of keys or values, which may lie in several pages.
  FailureOr<Value> fetchKeys(OpBuilder &builder, Operation *user, Value memory,
                             DimsAttr order, int64_t rows, EndOfSequence end);
  /// Stores `value`, a matrix or a vector of rows, up to `valid` rows of the
  /// slice; null: all of its rows.
  void store(OpBuilder &builder, Value value, const Tile &tile, int64_t rowDim,
             int64_t headDim, Value valid);
  void findGroupRow(OpBuilder &builder);
  /// Columns of a tile of queries, keys, values or results.
  int64_t getColumns(int64_t headDim);
  void shift(OpBuilder &builder, Value &offset, Value by);
  Value getEnd(OpBuilder &builder, const Tile &tile, int64_t dim);
  /// The index behind the last row of a slice that begins at index `first`: at
  /// most `extent`, which may say more than the memory of a piece has.
  FailureOr<Value> getRowEnd(OpBuilder &builder, Operation *user, Value memory,
                             DimsAttr order, Value first, Value extent);
  FailureOr<Value> fetchTile(OpBuilder &builder, Tile &tile, DimsAttr order,
                             int64_t rows, std::optional<EndOfSequence> end,
                             Value shiftBy);

  /// Where the pairs of a step are, with the scalars of `mapping`; `visited` is
  /// the first column of the block.
  FailureOr<PairBlock> getPlace(OpBuilder &outside,
                                AttentionLikeOpInterface step,
                                const IRMapping &mapping, Value visited,
                                bool rowsAreKeys);
  /// How many keys the step takes: as many as its slice has, since ranges,
  /// which count `ofRange`, may be of places in a list.
  Value countKeys(AttentionLikeOpInterface step, const IRMapping &mapping,
                  Value ofRange);
  /// PairScores.cpp. The product times the scale.
  Value scale(OpBuilder &outside, OpBuilder &inside,
              AttentionLikeOpInterface step, const IRMapping &mapping,
              Value product);
  /// A region of the step on the pairs of a block: its first result, and in
  /// `second` another one if it has one.
  FailureOr<Value> applyRegion(OpBuilder &outside, OpBuilder &inside,
                               AttentionLikeOpInterface step,
                               const PairBlock &place, Region &region,
                               const IRMapping &mapping, ValueRange inputs,
                               Value *second = nullptr);
  /// Where the mask hides a pair, or its column is not below `end` or its row
  /// not below `rowEnd` (null: all are), `hidden` in place of `values`.
  FailureOr<SmallVector<Value>>
  hide(OpBuilder &outside, OpBuilder &inside, AttentionLikeOpInterface step,
       const PairBlock &place, const IRMapping &mapping, Value end,
       ValueRange values, float hidden, Value rowEnd = {});

  Operation *root;
  fagpu::RoleOp role;
  /// Rows are those of one group of warps.
  int64_t rows = 0, columns = 0;
  unsigned warps = 0;
  /// Where the group's rows begin in the block; null for one group.
  Value groupRow;
  Type element;
  RankedTensorType scoreType, rowType;

private:
  SmallVector<Value> yieldHidden(scf::IfOp branch, Value visible,
                                 ValueRange shown, ValueRange values,
                                 float hidden);
  Value hasMissingRows(OpBuilder &outside, const PairBlock &place,
                       Value rowEnd);
  Value isRowBelow(OpBuilder &inside, const PairBlock &place, Value rowEnd);
  SmallVector<Value> hideMissingRows(OpBuilder &inside, const PairBlock &place,
                                     Value rowEnd, Value areMissing,
                                     ValueRange values, float hidden);
  SmallVector<Value> hideFromEnd(OpBuilder &outside, OpBuilder &inside,
                                 const PairBlock &place, Value end,
                                 ValueRange values, float hidden);
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_PAIRSTILE_H
