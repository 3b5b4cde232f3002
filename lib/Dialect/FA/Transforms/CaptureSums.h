//===- CaptureSums.h - Where gradients of captures are summed ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that run at the same time add to no common element: either they index
// elements of their own, or each has a table of its own, which is added to the
// others in their order afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_CAPTURESUMS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_CAPTURESUMS_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// Batches, heads and blocks: what the iterations of loops are made of.
using IterationDims = std::array<bool, 3>;

/// The sums of one capture's gradient, or of the scale's.
struct CaptureSum {
  /// The number of the capture; none of the scale.
  std::optional<int64_t> capture;
  /// Memory of f32, with a dimension for each of `isPrivate` in front; of 16
  /// bits where each element is of one pair.
  Value memory;
  IterationDims isPrivate;
  /// Whether blocks of pairs are stored in it, or added to it, as boxes.
  bool inBoxes = false;
  /// Whether each warp has a part, in front of all dimensions.
  bool ofWarps = false;
};

/// Sums that the same loops compute.
struct CaptureGroup {
  /// Which iterations add to elements of their own.
  IterationDims isParallel = {true, true, true};
  SmallVector<CaptureSum> sums;
  /// Whether no two threads add to one element.
  bool isOrdered = false;
};

/// What a step adds to, at one iteration.
struct CaptureDestinations {
  SmallVector<int64_t> numbers;
  /// Those of `numbers` that take boxes.
  SmallVector<int64_t> inBoxes;
  SmallVector<Value> memory;
  Value scale;
};

class CaptureSums {
public:
  /// `counts` has as many iterations as each dimension has; blocks that run
  /// `inOrder` need no tables of their own.
  CaptureSums(OpBuilder &builder, AttentionGradientOp op,
              std::array<OpFoldResult, 3> counts, bool blocksInOrder)
      : builder(builder), op(op), loc(op.getLoc()), counts(counts),
        blocksInOrder(blocksInOrder) {}

  /// Makes the sums, of 0.
  SmallVector<CaptureGroup> create();
  /// The same, where additions of blocks that run at the same time come one
  /// after the other, in any order: those that blocks of queries, and of keys,
  /// add to.
  struct SharedSums {
    CaptureGroup ofQueries, ofKeys;
  };
  SharedSums createShared(bool hasQueries, bool hasKeys);
  /// A loop over blocks of queries or of keys: its batches, heads and blocks,
  /// or slots of packed rows, each of one item; and as many warps as a block
  /// has at most.
  struct BlockLoop {
    std::array<OpFoldResult, 3> counts;
    bool ofSlots = false;
    int64_t warps = 0;
  };
  /// The same, where no two threads add to one element (OrderedSums.h).
  SharedSums createOrdered(bool hasQueries, bool hasKeys,
                           const BlockLoop &ofQueries, const BlockLoop &ofKeys);
  /// What the iteration at (batch, head, block) adds to.
  static CaptureDestinations getDestinations(OpBuilder &builder, Location loc,
                                             const CaptureGroup &group,
                                             std::array<Value, 3> at);
  /// Says on a step which destinations it stores boxes in, and whether it adds
  /// to elements of its own alone.
  static void mark(Operation *step, const CaptureGroup &group,
                   const CaptureDestinations &destinations);
  /// Writes the gradients, and frees what was allocated. Sums are copied
  /// (`byCopies`), to narrower elements too, or stored.
  void store(bool byCopies = false);

private:
  /// How a capture is indexed where its gradient is added to.
  struct Use {
    /// Which of batch, head and query index a dimension, the same one in all
    /// places.
    IterationDims isOwn = {false, false, false};
    /// The most indices of one place that differ between pairs of a block.
    unsigned numVarying = 0;
    /// Whether it depends on the key and not on the query.
    bool isOfKeys = false;
  };
  Use findUse(int64_t capture);
  /// Calls `add` with each capture that the score reads, and with the scale, of
  /// which a gradient is asked. The gradient of a capture that it does not read
  /// is 0.
  void forEachRead(
      function_ref<void(std::optional<int64_t>, Value, const Use &)> add);
  CaptureSum createSum(std::optional<int64_t> capture, Value gradient,
                       IterationDims isPrivate, bool hasAlignedRows = false);
  CaptureSum createParts(std::optional<int64_t> capture, Value gradient,
                         IterationDims isPrivate, const BlockLoop &loop,
                         bool ofWarps);
  Value createMemory(Value like, ArrayRef<OpFoldResult> leading);
  Value createZeros(Value memory, bool hasAlignedRows = false);
  void clearRest(Value gradient, int64_t capture);
  bool copiesInBulk();

  OpBuilder &builder;
  AttentionGradientOp op;
  Location loc;
  std::array<OpFoldResult, 3> counts;
  bool blocksInOrder;
  /// Sums that are not in the gradient itself.
  struct SeparateSum {
    Value memory, gradient;
    bool hasAlignedRows;
  };
  SmallVector<SeparateSum> separate;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_CAPTURESUMS_H
