//===- Decompose.cpp - Steps of attention to generic operations -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockViews.h"
#include "PairRegions.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FADECOMPOSE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr float negativeInfinity =
    -std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// OnlineAttentionOp
//===----------------------------------------------------------------------===//

namespace {
/// Decomposes one step. Scores and probabilities stand as keys x queries, so
/// that the statistics of a query never cross the lanes of a vector.
class StepDecomposer {
public:
  StepDecomposer(OpBuilder &builder, OnlineAttentionOp step, int64_t keyBlock);
  void decompose();

private:
  void computeScores();
  void applyRegions();
  Value transformScore(OpBuilder &nested, Value score);
  void updateStatistics();
  void exponentiate();
  void accumulate();
  PairPlace getPlace(OpBuilder &nested);
  bool isUnscaled();

  OnlineAttentionOp step;
  BlockBuilder block;
  Location loc;
  int64_t rows;
  Value query, key, value;
  SmallVector<Value> scoreCaptures, maskCaptures;
  /// Scores, then probabilities: keys x rows.
  Value scores;
  /// Of each row: the new maximum and then what is subtracted from scores,
  /// the factor of the old state, and the sum of this block.
  Value shift, correction, blockSum;
};
} // namespace

StepDecomposer::StepDecomposer(OpBuilder &builder, OnlineAttentionOp step,
                               int64_t keyBlock)
    : step(step), block(builder, step.getLoc(), step.getConfigAttr()),
      loc(step.getLoc()) {
  rows = cast<MemRefType>(step.getAccumulator().getType()).getDimSize(0);
  query = block.matrix(step.getQuery(), step.getQueryOrder());
  key = block.matrix(step.getKey(), step.getKeyOrder());
  value = block.matrix(step.getValue(), step.getValueOrder());
  scoreCaptures = guardEmptyTables(builder, loc, step.getScoreCaptures());
  maskCaptures = guardEmptyTables(builder, loc, step.getMaskCaptures());
  OpFoldResult keys = memref::getMixedSize(builder, loc, key, 0);
  scores = block.firstRows(block.scratch({keyBlock, rows}), keys);
  shift = block.scratch({rows});
  correction = block.scratch({rows});
  blockSum = block.scratch({rows});
}

bool StepDecomposer::isUnscaled() {
  return step.getScale() && matchPattern(step.getScale(), m_OneFloat());
}

void StepDecomposer::computeScores() {
  OpFoldResult queries = memref::getMixedSize(block.builder, loc, query, 0);
  Value target = scores;
  // Rows of the state without a query are padding: zero, so that they hold
  // nothing that traps or is slow.
  block.fill(scores, 0.0f);
  if (getConstantIntValue(queries) != rows) {
    SmallVector<OpFoldResult> sizes =
        memref::getMixedSizes(block.builder, loc, scores);
    sizes[1] = queries;
    SmallVector<OpFoldResult> offsets(2, block.builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(2, block.builder.getIndexAttr(1));
    target = memref::SubViewOp::create(block.builder, loc, scores, offsets,
                                       sizes, strides);
  }
  // Loops: key, query, head dim.
  block.generic({parallelLoop, parallelLoop, reductionLoop},
                {{0, 2}, {1, 2}, {0, 1}}, {key, query}, target,
                [&](OpBuilder &nested, ValueRange scalars) {
                  Value k = extendToF32(nested, loc, scalars[0]);
                  Value q = extendToF32(nested, loc, scalars[1]);
                  return SmallVector<Value>{
                      math::FmaOp::create(nested, loc, k, q, scalars[2])};
                });
}

/// The place of the current iteration of loops (key, query).
PairPlace StepDecomposer::getPlace(OpBuilder &nested) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(nested, loc, number);
  };
  SmallVector<Value> offsets(step.getOffsets());
  if (offsets.empty())
    offsets.assign(4, constant(0));
  PairPlace place;
  place.batch = offsets[0];
  place.head = offsets[1];
  place.query = arith::AddIOp::create(nested, loc, offsets[2],
                                      linalg::IndexOp::create(nested, loc, 1));
  place.key = arith::AddIOp::create(nested, loc, offsets[3],
                                    linalg::IndexOp::create(nested, loc, 0));
  if (step.getExtents().empty()) {
    place.queries = memref::DimOp::create(nested, loc, query, 0);
    place.keys = memref::DimOp::create(nested, loc, key, 0);
  } else {
    place.queries = step.getExtents()[0];
    place.keys = step.getExtents()[1];
  }
  // Padding rows of the state stand in for the last query.
  Value last = arith::SubIOp::create(nested, loc, place.queries, constant(1));
  place.query = arith::MinSIOp::create(nested, loc, place.query, last);
  place.query = arith::MaxSIOp::create(nested, loc, place.query, constant(0));
  return place;
}

Value StepDecomposer::transformScore(OpBuilder &nested, Value score) {
  Value scale = step.getScale();
  if (!scale) {
    int64_t headDim = cast<MemRefType>(query.getType()).getDimSize(1);
    scale = arith::ConstantOp::create(
        nested, loc,
        nested.getF32FloatAttr(1.0f / std::sqrt(static_cast<float>(headDim))));
  }
  if (!isUnscaled())
    score = arith::MulFOp::create(nested, loc, score, scale);
  if (step.getScore().empty() && step.getMask().empty())
    return score;
  PairPlace place = getPlace(nested);
  if (!step.getScore().empty())
    score =
        inlinePairRegion(nested, step.getScore(), score, place, scoreCaptures);
  if (step.getMask().empty())
    return score;
  Value visible =
      inlinePairRegion(nested, step.getMask(), Value(), place, maskCaptures);
  Value hidden = arith::ConstantOp::create(
      nested, loc, nested.getF32FloatAttr(negativeInfinity));
  return arith::SelectOp::create(nested, loc, visible, score, hidden);
}

/// Keeps the old maximum where the score is NaN: the NaN itself reaches the
/// sum and the accumulator through its exponential.
static Value larger(OpBuilder &builder, Location loc, Value score,
                    Value maximum) {
  Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                      score, maximum);
  return arith::SelectOp::create(builder, loc, above, score, maximum);
}

void StepDecomposer::applyRegions() {
  block.generic({parallelLoop}, {{0}, {0}}, step.getMaximum(), shift,
                [](OpBuilder &, ValueRange scalars) {
                  return SmallVector<Value>{scalars[0]};
                });
  bool unchanged =
      isUnscaled() && step.getScore().empty() && step.getMask().empty();
  if (unchanged) {
    block.generic({reductionLoop, parallelLoop}, {{0, 1}, {1}}, scores, shift,
                  [&](OpBuilder &nested, ValueRange scalars) {
                    return SmallVector<Value>{
                        larger(nested, loc, scalars[0], scalars[1])};
                  });
    return;
  }
  block.generic({reductionLoop, parallelLoop}, {{0, 1}, {1}}, {},
                {scores, shift}, [&](OpBuilder &nested, ValueRange scalars) {
                  Value score = transformScore(nested, scalars[0]);
                  return SmallVector<Value>{
                      score, larger(nested, loc, score, scalars[1])};
                });
}

void StepDecomposer::updateStatistics() {
  // Outputs: the shift, the correction, the maximum of the state.
  block.generic({parallelLoop}, {{0}, {0}, {0}}, {},
                {shift, correction, step.getMaximum()},
                [&](OpBuilder &nested, ValueRange scalars) {
                  Value zero = block.constant(0.0f),
                        hidden = block.constant(negativeInfinity);
                  Value newMaximum = scalars[0];
                  Value empty = arith::CmpFOp::create(nested, loc,
                                                      arith::CmpFPredicate::OEQ,
                                                      newMaximum, hidden);
                  Value finite = arith::SelectOp::create(nested, loc, empty,
                                                         zero, newMaximum);
                  Value difference =
                      arith::SubFOp::create(nested, loc, scalars[2], finite);
                  Value factor = math::ExpOp::create(nested, loc, difference);
                  return SmallVector<Value>{finite, factor, newMaximum};
                });
}

void StepDecomposer::exponentiate() {
  block.fill(blockSum, 0.0f);
  block.generic(
      {reductionLoop, parallelLoop}, {{1}, {0, 1}, {1}}, shift,
      {scores, blockSum}, [&](OpBuilder &nested, ValueRange scalars) {
        Value difference =
            arith::SubFOp::create(nested, loc, scalars[1], scalars[0]);
        Value probability = math::ExpOp::create(nested, loc, difference);
        Value sum = arith::AddFOp::create(nested, loc, scalars[2], probability);
        return SmallVector<Value>{probability, sum};
      });
}

void StepDecomposer::accumulate() {
  block.generic({parallelLoop}, {{0}, {0}, {0}}, {correction, blockSum},
                step.getSum(), [&](OpBuilder &nested, ValueRange scalars) {
                  return SmallVector<Value>{math::FmaOp::create(
                      nested, loc, scalars[2], scalars[0], scalars[1])};
                });
  // The block's own product starts at zero and is added at once: fewer
  // roundings reach a long sum than when every key is added to it.
  int64_t headDim = cast<MemRefType>(value.getType()).getDimSize(1);
  Value product = block.scratch({headDim, rows});
  block.fill(product, 0.0f);
  // Loops: head dim, query, key.
  block.generic({parallelLoop, parallelLoop, reductionLoop},
                {{2, 0}, {2, 1}, {0, 1}}, {value, scores}, product,
                [&](OpBuilder &nested, ValueRange scalars) {
                  Value v = extendToF32(nested, loc, scalars[0]);
                  return SmallVector<Value>{math::FmaOp::create(
                      nested, loc, v, scalars[1], scalars[2])};
                });
  block.generic({parallelLoop, parallelLoop}, {{0, 1}, {1}, {1, 0}},
                {product, correction}, step.getAccumulator(),
                [&](OpBuilder &nested, ValueRange scalars) {
                  return SmallVector<Value>{math::FmaOp::create(
                      nested, loc, scalars[2], scalars[1], scalars[0])};
                });
}

void StepDecomposer::decompose() {
  computeScores();
  applyRegions();
  updateStatistics();
  exponentiate();
  accumulate();
}

LogicalResult mlir::fa::decomposeOnlineAttention(RewriterBase &rewriter,
                                                 OnlineAttentionOp step) {
  if (!isa<MemRefType>(step.getQuery().getType()) ||
      !isa<MemRefType>(step.getAccumulator().getType()))
    return step.emitOpError("has tensor operands, expected memrefs: bufferize "
                            "before decomposing");
  if (ShapedType::isDynamic(
          cast<MemRefType>(step.getAccumulator().getType()).getDimSize(0)))
    return step.emitOpError("has a state with a dynamic number of rows, "
                            "expected a static one");
  FailureOr<int64_t> keyBlock = getKeyBound(step);
  if (failed(keyBlock))
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(step);
  StepDecomposer(rewriter, step, *keyBlock).decompose();
  rewriter.eraseOp(step);
  return success();
}

//===----------------------------------------------------------------------===//
// FinalizeOp
//===----------------------------------------------------------------------===//

/// The number of rows that `finalize` writes.
static OpFoldResult getWrittenRows(OpBuilder &builder, FinalizeOp finalize) {
  Location loc = finalize.getLoc();
  OpFoldResult rows = memref::getMixedSize(
      builder, loc, finalize.getOutput(),
      finalize.getOutputOrder().positionOf(DimKind::Sequence));
  if (!finalize.getRows())
    return rows;
  Value all = getValueOrCreateConstantIndexOp(builder, loc, rows);
  return arith::MinSIOp::create(builder, loc, all, finalize.getRows())
      .getResult();
}

/// The lse of every row of the state, then of the written rows.
static void writeLse(BlockBuilder &block, FinalizeOp finalize,
                     OpFoldResult rows) {
  OpBuilder &builder = block.builder;
  Location loc = finalize.getLoc();
  auto stateType = cast<MemRefType>(finalize.getSum().getType());
  Value lse = block.scratch(stateType.getShape());
  block.generic(
      {parallelLoop}, {{0}, {0}, {0}},
      {finalize.getMaximum(), finalize.getSum()}, lse,
      [&](OpBuilder &nested, ValueRange scalars) {
        Value empty =
            arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OEQ,
                                  scalars[1], block.constant(0.0f));
        Value sum =
            arith::AddFOp::create(nested, loc, scalars[0],
                                  math::LogOp::create(nested, loc, scalars[1]));
        return SmallVector<Value>{arith::SelectOp::create(
            nested, loc, empty, block.constant(negativeInfinity), sum)};
      });
  SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(3, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes(3, builder.getIndexAttr(1));
  std::optional<int64_t> constant = getConstantIntValue(rows);
  sizes[2] = constant ? OpFoldResult(builder.getIndexAttr(*constant)) : rows;
  int64_t staticRows = constant.value_or(ShapedType::kDynamic);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      staticRows, cast<MemRefType>(finalize.getLse().getType()), offsets, sizes,
      strides);
  Value target = memref::SubViewOp::create(
      builder, loc, type, finalize.getLse(), offsets, sizes, strides);
  block.generic({parallelLoop}, {{0}, {0}}, block.firstRows(lse, rows), target,
                [](OpBuilder &, ValueRange scalars) {
                  return SmallVector<Value>{scalars[0]};
                });
}

static void writeOutput(BlockBuilder &block, FinalizeOp finalize,
                        OpFoldResult rows) {
  Location loc = finalize.getLoc();
  auto stateType = cast<MemRefType>(finalize.getSum().getType());
  Value inverse = block.scratch(stateType.getShape());
  block.generic({parallelLoop}, {{0}, {0}}, finalize.getSum(), inverse,
                [&](OpBuilder &nested, ValueRange scalars) {
                  return SmallVector<Value>{arith::DivFOp::create(
                      nested, loc, block.constant(1.0f), scalars[0])};
                });
  Value target =
      block.matrix(finalize.getOutput(), finalize.getOutputOrder(), rows);
  Type element = cast<MemRefType>(target.getType()).getElementType();
  block.generic(
      {parallelLoop, parallelLoop}, {{0, 1}, {0}, {0}, {0, 1}},
      {block.firstRows(finalize.getAccumulator(), rows),
       block.firstRows(inverse, rows),
       block.firstRows(finalize.getSum(), rows)},
      target, [&](OpBuilder &nested, ValueRange scalars) {
        Value zero = block.constant(0.0f);
        Value empty = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, scalars[2], zero);
        Value quotient =
            arith::MulFOp::create(nested, loc, scalars[0], scalars[1]);
        Value result =
            arith::SelectOp::create(nested, loc, empty, zero, quotient);
        return SmallVector<Value>{truncateTo(nested, loc, result, element)};
      });
}

LogicalResult mlir::fa::decomposeFinalize(RewriterBase &rewriter,
                                          FinalizeOp finalize) {
  if (!isa<MemRefType>(finalize.getAccumulator().getType()) ||
      !isa<MemRefType>(finalize.getOutput().getType()))
    return finalize.emitOpError("has tensor operands, expected memrefs: "
                                "bufferize before decomposing");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(finalize);
  BlockBuilder block(rewriter, finalize.getLoc(), ConfigAttr());
  OpFoldResult rows = getWrittenRows(rewriter, finalize);
  writeOutput(block, finalize, rows);
  if (finalize.getLse())
    writeLse(block, finalize, rows);
  rewriter.eraseOp(finalize);
  return success();
}

namespace {
struct DecomposePass : public fa::impl::FADecomposeBase<DecomposePass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> all;
    getOperation()->walk([&](Operation *op) {
      if (isa<OnlineAttentionOp, FinalizeOp, CombineOp>(op))
        all.push_back(op);
    });
    for (Operation *op : all) {
      LogicalResult result = success();
      if (auto step = dyn_cast<OnlineAttentionOp>(op))
        result = decomposeOnlineAttention(rewriter, step);
      else if (auto finalize = dyn_cast<FinalizeOp>(op))
        result = decomposeFinalize(rewriter, finalize);
      else
        result = decomposeCombine(rewriter, cast<CombineOp>(op));
      if (failed(result))
        return signalPassFailure();
    }
  }
};
} // namespace
