//===- GradientTiler.h - Tiles one gradient ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fa-tile-gradient is made of, by the files that have its functions.
// TileGradient.cpp decides which loops there are, GradientBlocks.cpp,
// GradientItems.cpp and GradientLists.cpp have what all of them use; the other
// files have a kind of loop each.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_GRADIENTTILER_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_GRADIENTTILER_H

#include "CaptureSums.h"
#include "Lengths.h"
#include "SequenceSlots.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/SequenceOrder.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// One block of a sequence: where it begins in the operand, how many rows it
/// has, and how many of these are below the length of the batch item.
struct SequenceBlock {
  OpFoldResult first, count, valid;
  /// Its number among blocks of the item, or among slots.
  Value number;
};

/// The queries, or the keys, of an item of the batch.
struct ItemRows {
  /// Of the item in the operands, and where its rows begin there.
  OpFoldResult batch, first;
  /// How many rows have a gradient, which is 0 of those past the length.
  OpFoldResult room;
  /// As masks and scores see it.
  Value length;
  bool hasLength = false;
  /// Whether it may end ahead of the block.
  bool isSequence = false;
};

/// An item of the batch, or a sequence.
struct BatchItem {
  Value batch;
  ItemRows queries, keys;
  /// Of its first query, in the numbers of query rows.
  OpFoldResult firstNumber;
  /// The same of a block that has a slot, and the slot's number; null for
  /// others.
  Value blockNumber, slot;
  /// Of a sequence: whether its starts and lengths are such as can be. Else its
  /// queries have gradients of NaN, and no keys.
  Value isValid;
};

/// The rows that a loop goes over by blocks.
enum class RowKind { queries, keys };

/// The rows of a sequence that a loop visits, or those of none.
struct SlotRows {
  RowKind kind;
  /// Its number among slots, and the sequence of the batch, or one that there
  /// is.
  Value sequence, batch;
  Value first, room, isSequence;
};

/// A list of the blocks that there are of packed rows, which the device writes.
struct BlockList {
  RowKind kind;
  int64_t block;
  /// Of the host: heads, and the most blocks.
  Value heads, slots;
  Value memory;
  /// The word where sums of groups of sequences begin.
  Value firstSum;
};

/// What blocks of keys add to.
struct KeyGradients {
  Value key, value;
  /// Of `one_pass` where an iteration owns a key head.
  Value query;
  CaptureGroup captures;
};

/// Tiles one gradient.
class GradientTiler {
public:
  GradientTiler(RewriterBase &rewriter, AttentionGradientOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()),
        config(op.getConfigAttr()),
        keysConfig(op->getAttrOfType<ConfigAttr>(gradientKeysAttrName)) {
    if (!keysConfig)
      keysConfig = config;
    TargetConfigAttrInterface target = config.getTarget();
    hasWholeBlocks = target && target.getTargetName() == "gpu";
  }

  void tile();

private:
  /// An iteration has a block of rows of an item.
  using Body =
      function_ref<void(const BatchItem &item, Value head, Value firstRow)>;

  template <typename OpTy> Value make(Value a, Value b) {
    return rewriter.createOrFold<OpTy>(loc, a, b);
  }

  // GradientItems.cpp: items of the batch, and sequences.
  void takeViews();
  BatchItem findItem(Value batch);
  BatchItem findSequence(Value batch, std::optional<SlotRows> visited);
  void limitToValid(SequenceViews &views, Value batch, SlotRows &visited);
  SequenceSlots getSlots(RowKind kind, int64_t block);
  OpFoldResult countRows(const ItemRows &rows, Value offset);
  OpFoldResult getBlockNumber(const BatchItem &item, Value firstRow);
  Value getScaleOf(const BatchItem &item);
  void loopOverSlots(OpFoldResult headCount, RowKind kind, int64_t block,
                     int64_t part, Body body);

  // GradientLists.cpp: lists of blocks of packed sequences.
  bool isListed();
  void listBlocks();
  void allocateList(RowKind kind, int64_t block);
  const BlockList *findList(RowKind kind, int64_t block);
  bool isOfNumbers(const BlockList &list) {
    return list.kind == RowKind::queries && list.block == getBlockOfNumbers();
  }
  SlotRows findSlotRows(RowKind kind, Value sequence);
  Value countBlocks(const BlockList &list, Value sequence);
  SequenceOrder getOrder(const BlockList &list);
  Value listSequence(const BlockList &list, Value sequence, Value firstNumber);
  void loopOverList(const BlockList &list, Body body);

  // GradientBlocks.cpp: loops and slices.
  OpFoldResult size(Value operand, DimsAttr order, DimKind kind) {
    return getMixedSize(rewriter, loc, operand, order, kind);
  }
  Value toValue(OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  }
  OpFoldResult add(OpFoldResult a, OpFoldResult b) {
    return addSizes(rewriter, loc, a, b);
  }
  int64_t getBlock(OpFoldResult total, int64_t block) {
    std::optional<int64_t> known = getConstantIntValue(total);
    return known && !hasWholeBlocks ? std::clamp<int64_t>(*known, 1, block)
                                    : block;
  }
  /// Loops that become kernels stay loops where they have one iteration.
  std::optional<ArrayAttr> getMapping(size_t numDims) {
    if (!hasWholeBlocks)
      return std::nullopt;
    SmallVector<Attribute> ids;
    for (size_t dim = 0; dim < numDims; ++dim)
      ids.push_back(gpu::GPUBlockMappingAttr::get(
          rewriter.getContext(),
          gpu::symbolizeMappingId(numDims - 1 - dim).value()));
    return rewriter.getArrayAttr(ids);
  }
  /// A loop over the blocks of (batch, head, queries) whose numbers lie in
  /// whole blocks of memory.
  void loopOverNumbers(OpFoldResult rows, int64_t block, Body body);
  /// A loop over the blocks of (batch, head, rows), parallel where it says so.
  void loop(OpFoldResult headCount, RowKind kind, OpFoldResult rows,
            int64_t block, std::array<bool, 3> isParallel, Body body);
  /// A block of the rows; of a loop that ends at `end`, or where they do.
  SequenceBlock getSequenceBlock(Value first, const ItemRows &rows,
                                 int64_t block, Value offset,
                                 OpFoldResult end = {});
  OpFoldResult getValidCount(OpFoldResult count, OpFoldResult first,
                             Value length);
  Value getLength(Value lengths, Value batch, Value extent) {
    return getValidLength(rewriter, loc, lengths,
                          toValue(add(op.getOffsets()[0], batch)), extent);
  }
  Value slice(Value operand, DimsAttr order, OpFoldResult batch,
              OpFoldResult first, OpFoldResult count, OpFoldResult head);
  Value slice(Value operand, DimsAttr order, const ItemRows &rows,
              OpFoldResult first, OpFoldResult count, OpFoldResult head);
  Value sliceRows(Value rows, OpFoldResult batch, Value head,
                  OpFoldResult first, OpFoldResult count);
  Value sliceNumbers(Value numbers, const BatchItem &item, Value head,
                     OpFoldResult first, OpFoldResult count);
  Value createZeros(OpFoldResult rows, Value operand, DimsAttr order);
  Value getScale();
  SmallVector<Value> getOffsets(Value batch, Value head, OpFoldResult query,
                                OpFoldResult key);
  template <typename OpTy> void takeRegions(OpTy step) {
    IRMapping mapping;
    op.getScore().cloneInto(&step.getScore(), mapping);
    op.getScoreGradient().cloneInto(&step.getScoreGradient(), mapping);
    op.getMask().cloneInto(&step.getMask(), mapping);
  }
  void finalize(Value accumulator, Value scale, Value gradient, DimsAttr order,
                const ItemRows &rows, Value head, const SequenceBlock &block,
                ConfigAttr withConfig = {});

  Value getGroup() {
    return rewriter.createOrFold<arith::DivUIOp>(loc, toValue(heads),
                                                 toValue(keyHeads));
  }
  Value getQueryHead(Value keyHead, Value member);

  // GradientRows.cpp: numbers of each query row.
  int64_t getPreparedBlock();
  int64_t getBlockOfNumbers();
  OpFoldResult padRows();
  Value allocate(OpFoldResult rows);
  OpFoldResult countCleared(OpFoldResult count, int64_t block);
  void prepare(bool hasSums);

  // GradientKeys.cpp: blocks of keys.
  void tileKeys(const KeyGradients &gradients);
  void tileKeysByHeads(const KeyGradients &gradients);
  void addKeyBlock(const KeyGradients &gradients, const BatchItem &item,
                   Value keyHead, Value firstKey, int64_t block,
                   Value querySums);
  GradientKeysOp createKeysStep(const KeyGradients &gradients,
                                const BatchItem &item, Value keyHead,
                                Value member, Value head,
                                const SequenceBlock &keyBlock, ValueRange state,
                                Value querySums);

  // GradientQuerySums.cpp: what blocks of keys add for queries.
  /// Rows of a head follow each other.
  DimsAttr getQuerySumsOrder() {
    return DimsAttr::get(rewriter.getContext(), {0, 2, 1, 3});
  }
  void tileKeyHeads(const KeyGradients &gradients);
  Value createQuerySums();
  void finalizeQuerySums(Value querySums, const BatchItem &item, Value keyHead);
  void finalizeSums(Value ofHead, OpFoldResult firstSum, const BatchItem &item,
                    Value head, Value firstQuery, int64_t block,
                    ConfigAttr withConfig);
  Value viewSums(OpFoldResult rows);
  void tileSums();

  // GradientQueries.cpp: blocks of queries.
  void tileQueries(const CaptureGroup &captures, bool withQueries);
  Value getOrdinal(const BatchItem &item, Value first, int64_t block);
  CaptureSums::BlockLoop getBlockLoop(RowKind kind);

  void fillWithoutKeys();
  void assertQueryHeads();

  RewriterBase &rewriter;
  AttentionGradientOp op;
  Location loc;
  /// Of blocks of queries, and of keys.
  ConfigAttr config, keysConfig;
  /// Whether rows that are queries, and rows that are keys, are always as many
  /// as a block has.
  bool hasWholeBlocks;
  OpFoldResult batches, heads, keyHeads, queries, keys;
  /// Where sequences of packed queries, and keys, begin; null for a batch.
  Value queryStarts, keyStarts;
  /// Loops over packed rows go over these, or over all slots where there are
  /// none.
  SmallVector<BlockList> lists;
  SequenceOrder::Counts listCounts;
  /// Whether lists are written by sums of groups of sequences.
  bool areMany = false;
  /// Numbers of each query row: batch x heads x queries.
  Value delta, reference;
  /// Where blocks of keys in parallel add up the gradient of queries: batch x
  /// heads x elements of whole blocks of queries. Their order in a block is the
  /// kernels'.
  Value sums;
  SmallVector<Value> workspaces;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_GRADIENTTILER_H
