//===- QueryBlock.h - One query block on block values -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_QUERYBLOCK_H
#define FA_LIB_CONVERSION_FATOFAGPU_QUERYBLOCK_H

#include "Blocks.h"
#include "RegionOnBlocks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::fa {

/// Products take 16 columns at once; those beyond a head dim are zeros.
int64_t padColumns(int64_t headDim);

/// Where the head dim ends in a row of so many columns; null where it fills the
/// row.
Value boundColumns(OpBuilder &builder, Location loc, int64_t headDim,
                   int64_t columns);

/// Bytes, at most 16, that rows of a head dim start at multiples of where they
/// are packed one after the other, and by what else is known of the memory.
int64_t getAlignment(MemRefType memory, int64_t headDim);

/// A slice of a kernel's argument.
struct Tile {
  Value memory;
  /// Of the slice in the memory, and its sizes, by dimension.
  SmallVector<Value> offsets;
  SmallVector<OpFoldResult> sizes;
};

/// Where valid keys end, and the first one of a slice, among all keys.
struct EndOfKeys {
  Value end, place;
};

/// Decomposes the state, the key ranges and the result of one query block.
class QueryBlock {
public:
  QueryBlock(FinalizeOp finalize) : finalize(finalize) {}
  LogicalResult run();

private:
  LogicalResult match();
  LogicalResult readProblem();
  LogicalResult rebuildRanges();
  /// What a block of scores becomes: its weights, and the maximum, the sums and
  /// the result of rows that the product with these is added to.
  struct Weights {
    Value weights, maximum, sum, accumulated;
  };
  Weights weigh(OpBuilder &inside, Value scores);
  LogicalResult emitStep(OpBuilder &outside, OpBuilder &inside,
                         const IRMapping &mapping);
  Value countKeys(const IRMapping &mapping);
  /// BlockScores.cpp. The scores of a key block, hidden from `end` on and where
  /// the mask says so.
  FailureOr<Value> emitScores(OpBuilder &outside, OpBuilder &inside,
                              const PairBlock &place, const IRMapping &mapping,
                              Value end, Value k);
  Value scale(OpBuilder &outside, OpBuilder &inside, const IRMapping &mapping,
              Value product);
  Value yieldHidden(scf::IfOp branch, Value visible, Value shown, Value scores);
  Value hideFromEnd(OpBuilder &outside, OpBuilder &inside,
                    const PairBlock &place, Value end, Value scores);
  FailureOr<Value> hide(OpBuilder &outside, OpBuilder &inside,
                        const PairBlock &place, const IRMapping &mapping,
                        Value end, Value scores);
  /// BlockResult.cpp. Divides by the sum of each row; a row without a visible
  /// key gives 0 and -inf.
  void emitResult();
  /// Where a mask hides every key.
  void emitEmptyResult();
  /// Stores f32 values of rows; `lse` is not read where none is asked for.
  void storeResult(OpBuilder &builder, Value output, Value lse);
  LogicalResult readRows();
  bool isEmpty();
  FailureOr<Tile> resolve(OpBuilder &builder, Operation *user, Value memory);
  FailureOr<Value> fetch(OpBuilder &builder, Value memory, DimsAttr order,
                         int64_t rows, std::optional<EndOfKeys> end,
                         Value shiftBy = {});
  void findGroupRow(OpBuilder &builder);
  /// Columns of a tile of queries, keys, values or results.
  int64_t getColumns(int64_t headDim);
  void shift(OpBuilder &builder, Value &offset, Value by);
  Value getEnd(OpBuilder &builder, const Tile &tile, int64_t dim);

  FinalizeOp finalize;
  KeyRangesOp ranges, newRanges;
  OnlineAttentionOp step;
  /// Rows are those of one group of warps.
  int64_t rows, keys, headDim, valueDim;
  unsigned warps;
  fagpu::RoleOp role;
  /// Where the group's rows begin in the block; null for one group.
  Value groupRow;
  Type element;
  RankedTensorType scoreType, accType, rowType;
  Value query;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_QUERYBLOCK_H
