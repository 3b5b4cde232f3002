//===- GradientTiler.h - Tiles one gradient ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fa-tile-gradient is made of, by the files that have its functions.
// TileGradient.cpp decides which loops there are, GradientBlocks.cpp has what
// all of them use; the other files have a kind of loop each.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_GRADIENTTILER_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_GRADIENTTILER_H

#include "CaptureSums.h"
#include "Lengths.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// One block of a sequence: where it begins in the operand, how many rows it
/// has, and how many of these are below the length of the batch item.
struct SequenceBlock {
  OpFoldResult first, count, valid;
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
  using Body = function_ref<void(ValueRange)>;

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
  /// A loop over the blocks of (batch, head, rows), parallel where it says so.
  void loop(OpFoldResult headCount, OpFoldResult rows, int64_t block,
            std::array<bool, 3> isParallel, Body body);
  SequenceBlock getSequenceBlock(Value first, OpFoldResult total, int64_t block,
                                 Value offset, Value length);
  OpFoldResult getValidCount(OpFoldResult count, OpFoldResult first,
                             Value length);
  Value getLength(Value lengths, Value batch, Value extent) {
    return getValidLength(rewriter, loc, lengths,
                          toValue(add(op.getOffsets()[0], batch)), extent);
  }
  Value slice(Value operand, DimsAttr order, Value batch, OpFoldResult first,
              OpFoldResult count, OpFoldResult head);
  Value sliceRows(Value rows, Value batch, Value head, OpFoldResult first,
                  OpFoldResult count);
  Value createZeros(int64_t rows, Value operand, DimsAttr order);
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
                Value batch, Value head, const SequenceBlock &block,
                ConfigAttr withConfig = {});

  Value getGroup() {
    return rewriter.createOrFold<arith::DivUIOp>(loc, toValue(heads),
                                                 toValue(keyHeads));
  }
  Value getQueryHead(Value keyHead, Value member);

  // GradientRows.cpp: numbers of each query row.
  int64_t getPreparedBlock();
  OpFoldResult padRows();
  Value allocate(OpFoldResult rows);
  void prepare(bool hasSums);

  // GradientKeys.cpp: blocks of keys.
  void tileKeys(const KeyGradients &gradients);
  void tileKeysByHeads(const KeyGradients &gradients);
  void addKeyBlock(const KeyGradients &gradients, Value batch, Value keyHead,
                   Value firstKey, int64_t block, Value querySums);
  GradientKeysOp createKeysStep(const KeyGradients &gradients, Value batch,
                                Value keyHead, Value member, Value head,
                                const SequenceBlock &keyBlock, ValueRange state,
                                Value querySums);

  // GradientQuerySums.cpp: what blocks of keys add for queries.
  /// Rows of a head follow each other.
  DimsAttr getQuerySumsOrder() {
    return DimsAttr::get(rewriter.getContext(), {0, 2, 1, 3});
  }
  void tileKeyHeads(const KeyGradients &gradients);
  Value createQuerySums();
  void finalizeQuerySums(Value querySums, Value batch, Value keyHead);
  void finalizeSums(Value ofHead, Value batch, Value head, Value firstQuery,
                    int64_t block, ConfigAttr withConfig);
  Value viewSums(OpFoldResult rows);
  void tileSums();

  // GradientQueries.cpp: blocks of queries.
  void tileQueries(const CaptureGroup &captures, bool withQueries);
  Value getOrdinal(Value first, int64_t block);

  void fillWithoutKeys();

  RewriterBase &rewriter;
  AttentionGradientOp op;
  Location loc;
  /// Of blocks of queries, and of keys.
  ConfigAttr config, keysConfig;
  /// Whether rows that are queries, and rows that are keys, are always as many
  /// as a block has.
  bool hasWholeBlocks;
  OpFoldResult batches, heads, keyHeads, queries, keys;
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
