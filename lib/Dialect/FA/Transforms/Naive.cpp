//===- Naive.cpp - Attention that materialises the scores -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Standard attention, in the order of its definition: all scores of a head,
// their maximum, exponentials, sum, the product with the values, the
// quotient. It shares nothing with the passes of online softmax but the
// tiling of batches and heads, so that it can check them. Read
// `NaiveHead::build` first.
//
//===----------------------------------------------------------------------===//

#include "NaiveBuilder.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FANAIVE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr auto parallel = utils::IteratorType::parallel;
static constexpr auto reduction = utils::IteratorType::reduction;
static constexpr float infinity = std::numeric_limits<float>::infinity();

namespace {

/// Writes the attention of one batch and one head.
class NaiveHead {
public:
  NaiveHead(RewriterBase &rewriter, AttentionOp op)
      : op(op), builder(rewriter, op.getLoc(), op.hasPureTensorOperands()) {}

  /// Returns the results, or nothing where the operands are memrefs.
  SmallVector<Value> build();

private:
  void readLengths();
  Value getLength(Value lengths, Value extent);
  OpFoldResult getValid(Value operand, DimsAttr order, Value length,
                        Value offset);
  void computeScores();
  Value transform(OpBuilder &nested, Location loc, Value score, Value query,
                  Value key);
  Value inlineRegion(OpBuilder &nested, Region &region, ValueRange arguments,
                     unsigned result = 0);
  void computeProbabilities();
  void applyFactors();
  SmallVector<Value> writeResults();

  AttentionOp op;
  NaiveBuilder builder;
  /// Lengths that the regions see, and rows and keys of this piece.
  Value queryLength, keyLength;
  OpFoldResult rows, keys;
  /// Scores, then probabilities: rows x keys. Maximum and sum of each row.
  Value scores, maximum, sum;
};

} // namespace

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

// The entry of `lengths` for this batch, within [0, extent].
Value NaiveHead::getLength(Value lengths, Value extent) {
  if (!lengths)
    return extent;
  OpBuilder &b = builder.builder;
  Location loc = op.getLoc();
  Value entry = buildCapturedLoad(b, loc, lengths, op.getOffsets()[0]);
  entry = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry);
  entry = arith::MaxSIOp::create(b, loc, entry, builder.index(0));
  return arith::MinSIOp::create(b, loc, entry, extent);
}

// How many of the operand's positions, which begin at `offset`, are valid.
OpFoldResult NaiveHead::getValid(Value operand, DimsAttr order, Value length,
                                 Value offset) {
  OpBuilder &b = builder.builder;
  Location loc = op.getLoc();
  OpFoldResult size = getMixedSize(b, loc, operand, order, DimKind::Sequence);
  Value left = arith::SubIOp::create(b, loc, length, offset);
  Value valid = arith::MinSIOp::create(
      b, loc, left, getValueOrCreateConstantIndexOp(b, loc, size));
  return arith::MaxSIOp::create(b, loc, valid, builder.index(0)).getResult();
}

void NaiveHead::readLengths() {
  OpBuilder &b = builder.builder;
  Location loc = op.getLoc();
  queryLength = getLength(op.getQueryLengths(), op.getExtents()[0]);
  keyLength = getLength(op.getKeyLengths(), op.getExtents()[1]);
  rows = getMixedSize(b, loc, op.getQuery(), op.getQueryOrder(),
                      DimKind::Sequence);
  keys = getMixedSize(b, loc, op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  if (op.getQueryLengths())
    rows = getValid(op.getQuery(), op.getQueryOrder(), queryLength,
                    op.getOffsets()[2]);
  if (op.getKeyLengths())
    keys =
        getValid(op.getKey(), op.getKeyOrder(), keyLength, op.getOffsets()[3]);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

// A copy of a region's body; loads out of bounds read 0.
Value NaiveHead::inlineRegion(OpBuilder &nested, Region &region,
                              ValueRange arguments, unsigned result) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &inner : region.front().without_terminator()) {
    if (isa<QueryLengthOp>(inner)) {
      mapping.map(inner.getResult(0), queryLength);
    } else if (isa<KeyLengthOp>(inner)) {
      mapping.map(inner.getResult(0), keyLength);
    } else if (auto stop = dyn_cast<StopGradientOp>(inner)) {
      mapping.map(stop.getResult(), mapping.lookup(stop.getValue()));
    } else if (isa<memref::LoadOp, tensor::ExtractOp>(inner)) {
      SmallVector<Value> operands;
      for (Value operand : inner.getOperands())
        operands.push_back(mapping.lookup(operand));
      mapping.map(inner.getResult(0),
                  buildGuardedLoad(nested, inner.getLoc(), operands.front(),
                                   ArrayRef(operands).drop_front()));
    } else {
      nested.clone(inner, mapping);
    }
  }
  return mapping.lookup(region.front().getTerminator()->getOperand(result));
}

// The score that softmax sees: scaled, through both regions.
Value NaiveHead::transform(OpBuilder &nested, Location loc, Value score,
                           Value query, Value key) {
  Value scale = op.getScale();
  if (!scale)
    scale = builder.constant(getDefaultScale(op));
  score = arith::MulFOp::create(nested, loc, score, scale);
  SmallVector<Value> arguments{
      op.getOffsets()[0], op.getOffsets()[1],
      arith::AddIOp::create(nested, loc, op.getOffsets()[2], query),
      arith::AddIOp::create(nested, loc, op.getOffsets()[3], key)};
  auto inlineWith = [&](Region &region, Value first, ValueRange captures) {
    SmallVector<Value> all;
    if (first)
      all.push_back(first);
    llvm::append_range(all, arguments);
    llvm::append_range(all, captures);
    return inlineRegion(nested, region, all);
  };
  if (!op.getScore().empty())
    score = inlineWith(op.getScore(), score, op.getScoreCaptures());
  if (op.getMask().empty())
    return score;
  Value visible = inlineWith(op.getMask(), Value(), op.getMaskCaptures());
  Value hidden = builder.constant(-infinity);
  return arith::SelectOp::create(nested, loc, visible, score, hidden);
}

void NaiveHead::computeScores() {
  NaiveMatrix query =
      builder.getMatrix(op.getQuery(), op.getQueryOrder(), rows);
  NaiveMatrix key = builder.getMatrix(op.getKey(), op.getKeyOrder(), keys);
  OpFoldResult headDim = getMixedSize(builder.builder, op.getLoc(), op.getKey(),
                                      op.getKeyOrder(), DimKind::HeadDim);
  // Keys along the rows' elements, so that the product's inner loop runs over
  // memory in order.
  Value transposed = builder.generic(
      {parallel, parallel}, {key.getMap(1, 0), {0, 1}}, key.value,
      builder.getScratch({headDim, keys}),
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        return builder.extend(nested, x[0]);
      });
  // Loops: row, head dim, key.
  scores = builder.generic(
      {parallel, reduction, parallel}, {query.getMap(0, 1), {1, 2}, {0, 2}},
      {query.value, transposed}, builder.getFilled({rows, keys}, 0.0f),
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        Value q = builder.extend(nested, x[0]);
        return math::FmaOp::create(nested, loc, q, x[1], x[2]);
      });
  scores = builder.generic(
      {parallel, parallel}, {{0, 1}}, {}, scores,
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        Value query = linalg::IndexOp::create(nested, loc, 0);
        Value key = linalg::IndexOp::create(nested, loc, 1);
        return transform(nested, loc, x[0], query, key);
      });
}

//===----------------------------------------------------------------------===//
// Softmax and results
//===----------------------------------------------------------------------===//

void NaiveHead::computeProbabilities() {
  maximum = builder.generic(
      {parallel, reduction}, {{0, 1}, {0}}, scores,
      builder.getFilled({rows}, -infinity),
      [](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        // A NaN reaches the result through its exponential.
        Value above = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OGT, x[0], x[1]);
        return arith::SelectOp::create(nested, loc, above, x[0], x[1]);
      });
  scores = builder.generic(
      {parallel, parallel}, {{0}, {0, 1}}, maximum, scores,
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        // Where no key is visible every score is -inf: exp(-inf - 0) = 0.
        Value hidden = builder.constant(-infinity), zero = builder.constant(0);
        Value isEmpty = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, x[0], hidden);
        Value shift = arith::SelectOp::create(nested, loc, isEmpty, zero, x[0]);
        Value difference = arith::SubFOp::create(nested, loc, x[1], shift);
        return math::ExpOp::create(nested, loc, difference);
      });
  sum = builder.generic(
      {parallel, reduction}, {{0, 1}, {0}}, scores,
      builder.getFilled({rows}, 0.0f),
      [](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        return arith::AddFOp::create(nested, loc, x[0], x[1]);
      });
}

/// Weights times the factors that the score region yields. These do not depend
/// on scores.
void NaiveHead::applyFactors() {
  if (op.getScore().empty() ||
      op.getScore().front().getTerminator()->getNumOperands() != 2)
    return;
  scores = builder.generic(
      {parallel, parallel}, {{0, 1}}, {}, scores,
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        auto getIndex = [&](unsigned loop) -> Value {
          return arith::AddIOp::create(
              nested, loc, op.getOffsets()[2 + loop],
              linalg::IndexOp::create(nested, loc, loop));
        };
        SmallVector<Value> arguments{x[0], op.getOffsets()[0],
                                     op.getOffsets()[1], getIndex(0),
                                     getIndex(1)};
        llvm::append_range(arguments, op.getScoreCaptures());
        Value factor =
            inlineRegion(nested, op.getScore(), arguments, /*result=*/1);
        return arith::MulFOp::create(nested, loc, x[0], factor);
      });
}

SmallVector<Value> NaiveHead::writeResults() {
  NaiveMatrix value =
      builder.getMatrix(op.getValue(), op.getValueOrder(), keys);
  OpFoldResult headDim =
      getMixedSize(builder.builder, op.getLoc(), op.getValue(),
                   op.getValueOrder(), DimKind::HeadDim);
  // Loops: row, key, value head dim.
  Value product = builder.generic(
      {parallel, reduction, parallel}, {{0, 1}, value.getMap(1, 2), {0, 2}},
      {scores, value.value}, builder.getFilled({rows, headDim}, 0.0f),
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        Value v = builder.extend(nested, x[1]);
        return math::FmaOp::create(nested, loc, x[0], v, x[2]);
      });
  auto isEmpty = [&](OpBuilder &nested, Location loc, Value total) -> Value {
    return arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OEQ, total,
                                 builder.constant(0.0f));
  };
  SmallVector<Value> results;
  NaiveMatrix output =
      builder.getMatrix(op.getOutput(), op.getOutputOrder(), rows);
  Value quotient = builder.generic(
      {parallel, parallel}, {{0, 1}, {0}, output.getMap(0, 1)}, {product, sum},
      output.value,
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        Value ratio = arith::DivFOp::create(nested, loc, x[0], x[1]);
        Value number =
            arith::SelectOp::create(nested, loc, isEmpty(nested, loc, x[1]),
                                    builder.constant(0.0f), ratio);
        return builder.truncate(nested, number, x[2].getType());
      });
  if (Value whole = builder.insert(quotient, op.getOutput(), output))
    results.push_back(whole);
  if (!op.getLse())
    return results;
  NaiveMatrix lse = builder.getRow(op.getLse(), rows);
  Value logarithm = builder.generic(
      {parallel}, {{0}, {0}, {0}}, {maximum, sum}, lse.value,
      [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
        Value log = math::LogOp::create(nested, loc, x[1]);
        Value number = arith::AddFOp::create(nested, loc, x[0], log);
        return arith::SelectOp::create(nested, loc, isEmpty(nested, loc, x[1]),
                                       builder.constant(-infinity), number);
      });
  if (Value whole = builder.insert(logarithm, op.getLse(), lse))
    results.push_back(whole);
  return results;
}

SmallVector<Value> NaiveHead::build() {
  readLengths();
  computeScores();
  computeProbabilities();
  applyFactors();
  SmallVector<Value> results = writeResults();
  builder.freeScratch();
  return results;
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

FailureOr<scf::ForallOp> mlir::fa::expandNaively(RewriterBase &rewriter,
                                                 AttentionOp op) {
  if (op.isRagged() || !op.getSink().empty())
    return op.emitOpError()
           << "has " << (op.isRagged() ? "packed sequences or pages" : "a sink")
           << ", of which fa-naive has no form; expected a batch without";
  if (!op.getScore().empty() && !op.getScore().getOps<DropoutOp>().empty())
    return op.emitOpError("has dropout, of which fa-naive has no form; run "
                          "fa-expand-dropout before");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  OpFoldResult one = rewriter.getIndexAttr(1), all = rewriter.getIndexAttr(0);
  scf::SCFTilingOptions options;
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp)
      .setTileSizes({one, one, all});
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled))
    return failure();
  rewriter.replaceOp(op, tiled->replacements);
  for (Operation *tile : tiled->tiledOps) {
    rewriter.setInsertionPoint(tile);
    SmallVector<Value> results =
        NaiveHead(rewriter, cast<AttentionOp>(tile)).build();
    rewriter.replaceOp(tile, results);
  }
  return cast<scf::ForallOp>(tiled->loops.front());
}

namespace {
struct NaivePass : public mlir::fa::impl::FANaiveBase<NaivePass> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) { attentions.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      if (failed(expandNaively(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
