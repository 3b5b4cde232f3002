//===- DecomposeStep.cpp - Steps of attention as block algebra ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step, its end and a merge, each written as the formula of its
// description: upstream operations on matrices and rows, and fa.apply for the
// regions. The CPU converts this text; the GPU still writes its own step. Each
// operation takes itself apart, through upstream's AggregatedOpInterface; the
// pass asks it to. Read `decompose` of the step first.
//
//===----------------------------------------------------------------------===//

#include "ComputedRows.h"
#include "DecomposeGradient.h"
#include "Lengths.h"
#include "PairTensors.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/DecomposeInterface.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FADECOMPOSESTEP
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

float mlir::fa::getDefaultScale(AttentionLikeOpInterface step) {
  int64_t position = step.getQueryOrder().positionOf(DimKind::HeadDim);
  auto type = cast<ShapedType>(step.getQuery().getType());
  return 1.0f / std::sqrt(static_cast<float>(type.getDimSize(position)));
}

Value mlir::fa::scaleScores(OpBuilder &builder, AttentionLikeOpInterface step,
                            Value scores, Value factors) {
  auto scaled = arith::MulFOp::create(builder, step->getLoc(), scores, factors,
                                      arith::FastMathFlags::contract |
                                          arith::FastMathFlags::reassoc);
  if (!step.getScale())
    scaled->setAttr(FADialect::defaultScaleAttrName, builder.getUnitAttr());
  return scaled;
}

static constexpr float negativeInfinity =
    -std::numeric_limits<float>::infinity();

/// In a form whose bound later passes know.
static OpFoldResult getSmaller(OpBuilder &builder, Location loc, OpFoldResult a,
                               OpFoldResult b) {
  return affine::makeComposedFoldedAffineMin(
      builder, loc, AffineMap::getMultiDimIdentityMap(2, builder.getContext()),
      {a, b});
}

//===----------------------------------------------------------------------===//
// OnlineAttentionOp
//===----------------------------------------------------------------------===//

static SmallVector<Value> decompose(OpBuilder &builder,
                                    OnlineAttentionOp step) {
  Location loc = step.getLoc();
  BlockTensors block(builder, loc);
  SmallVector<Value> state = llvm::map_to_vector(
      step.getDpsInits(), [&](Value value) { return block.loadState(value); });
  Value accumulator = state[0], maximum = state[1], oldSum = state[2];
  SmallVector<OpFoldResult> stateSizes = block.getSizes(accumulator);
  stateSizes[0] = getStateRows(builder, loc, step.getDpsInits()[0]);
  PairTensors pairs(builder, step, step.getConfigAttr(), /*rowsAreKeys=*/false,
                    stateSizes[0]);
  ArrayRef<OpFoldResult> sizes = pairs.getSizes();
  Value query = pairs.loadRows(step.getQuery(), step.getQueryOrder());
  Value key = block.loadMatrix(step.getKey(), step.getKeyOrder());
  Value value = block.loadMatrix(step.getValue(), step.getValueOrder());

  // x = score(scale * query * key^T), -inf where hidden
  PairTensors::Scores scored =
      pairs.applyScore(pairs.applyScale(pairs.multiply(query, key)));
  Value scores = pairs.applyMask(scored.values, negativeInfinity);
  // m' = max(m, max over keys of x), the old one where x is NaN
  Value newMaximum = block.reduce<arith::MaxNumFOp>(scores, maximum);
  // What exponents are taken from: 0 in a row that has seen no key, so that
  // they are 0 there and not NaN.
  Value shift = block.select(block.isEqual(newMaximum, negativeInfinity),
                             block.splatLike(0.0f, maximum), newMaximum);
  // p = exp(x - m')
  Value difference = arith::SubFOp::create(builder, loc, scores,
                                           block.broadcast(shift, sizes));
  Value weights = math::ExpOp::create(builder, loc, difference);
  // s' = s * exp(m - m') + sum over keys of p
  Value correction = math::ExpOp::create(
      builder, loc, arith::SubFOp::create(builder, loc, maximum, shift));
  Value blockSum =
      block.reduce<arith::AddFOp>(weights, block.splatLike(0.0f, oldSum));
  Value sum = math::FmaOp::create(builder, loc, oldSum, correction, blockSum);
  // acc' = acc * exp(m - m') + p * factor * value
  Value rescaled = arith::MulFOp::create(
      builder, loc, accumulator, block.broadcast(correction, stateSizes));
  Value product =
      block.contract(pairs.applyFactors(weights, scored), value, rescaled,
                     {{0, 2}, {2, 1}, {0, 1}}, step.getConfigAttr());
  SmallVector<Value> results{product, newMaximum, sum};
  return block.storeState(results, step.getDpsInits());
}

//===----------------------------------------------------------------------===//
// FinalizeOp
//===----------------------------------------------------------------------===//

static SmallVector<Value> decompose(OpBuilder &builder, FinalizeOp finalize) {
  Location loc = finalize.getLoc();
  BlockTensors block(builder, loc);
  SmallVector<Value> state =
      llvm::map_to_vector(finalize->getOperands().take_front(3),
                          [&](Value value) { return block.loadState(value); });
  Value accumulator = state[0], maximum = state[1], sum = state[2];
  OpFoldResult rows =
      getMixedSize(builder, loc, finalize.getOutput(),
                   finalize.getOutputOrder(), DimKind::Sequence);
  if (finalize.getRows())
    rows = getSmaller(builder, loc, rows, finalize.getRows());
  auto outputPlace =
      block.getMatrix(finalize.getOutput(), finalize.getOutputOrder(), rows);
  Value one = block.splatLike(1.0f, sum), weight = one;
  if (Value sink = finalize.getSink()) {
    // One more key, of value zero: m' = max(m, sink), and the accumulator and
    // the sum are rescaled by exp(m - m').
    Value score = isa<FloatType>(sink.getType())
                      ? block.splat(sink, block.getSizes(sum))
                      : block.loadState(sink);
    Value both = arith::MaximumFOp::create(builder, loc, maximum, score);
    Value shift = block.select(block.isEqual(both, negativeInfinity),
                               block.splatLike(0.0f, sum), both);
    auto getWeight = [&](Value number) -> Value {
      Value difference = arith::SubFOp::create(builder, loc, number, shift);
      return math::ExpOp::create(builder, loc, difference);
    };
    weight = getWeight(maximum);
    sum = math::FmaOp::create(builder, loc, sum, weight, getWeight(score));
    maximum = shift;
  }
  // output = accumulator / sum, 0 where sum is 0
  Value isEmpty = block.isEqual(sum, 0.0f);
  Value reciprocal = arith::DivFOp::create(builder, loc, weight, sum);
  Value inverse = block.select(isEmpty, block.splatLike(0.0f, sum), reciprocal);
  Value output = arith::MulFOp::create(
      builder, loc, accumulator,
      block.broadcast(inverse, block.getSizes(accumulator)));
  output = block.truncate(output,
                          getElementTypeOrSelf(finalize.getOutput().getType()));
  SmallVector<Value> results{block.store(output, outputPlace)};
  if (finalize.getLse()) {
    auto lsePlace = block.getRow(finalize.getLse(), rows);
    // lse = maximum + log(sum), -inf where sum is 0
    Value logarithm = math::LogOp::create(builder, loc, sum);
    Value lse = arith::AddFOp::create(builder, loc, maximum, logarithm);
    lse = block.select(isEmpty, block.splatLike(negativeInfinity, sum), lse);
    results.push_back(block.store(lse, lsePlace));
  }
  llvm::erase(results, Value());
  return results;
}

//===----------------------------------------------------------------------===//
// AddPartialOp
//===----------------------------------------------------------------------===//

static SmallVector<Value> decompose(OpBuilder &builder, AddPartialOp op) {
  Location loc = op.getLoc();
  BlockTensors block(builder, loc);
  Value accumulator = op.getAccumulator(), maximum = op.getMaximum();
  SmallVector<OpFoldResult> sizes = block.getSizes(accumulator);
  // What is behind the last row is padding of the state.
  Value output = block.padRows(
      block.loadMatrix(op.getOutput(), DimsAttr::getDefault(op.getContext())),
      sizes[0]);
  Value lse = block.padRows(block.loadRow(op.getLse()), sizes[0]);
  // m' = max(m, lse), 0 in place of it where both are -inf
  Value newMaximum = arith::MaximumFOp::create(builder, loc, maximum, lse);
  Value shift = block.select(block.isEqual(newMaximum, negativeInfinity),
                             block.splatLike(0.0f, maximum), newMaximum);
  auto getWeight = [&](Value number) -> Value {
    Value difference = arith::SubFOp::create(builder, loc, number, shift);
    return math::ExpOp::create(builder, loc, difference);
  };
  Value correction = getWeight(maximum), weight = getWeight(lse);
  Value sum =
      math::FmaOp::create(builder, loc, op.getSum(), correction, weight);
  // What has the weight 0 may hold anything and is not read into the sum.
  Value weights = block.broadcast(weight, sizes);
  Value product = arith::MulFOp::create(builder, loc, output, weights);
  Value term = block.select(block.isEqual(weights, 0.0f),
                            block.splat(0.0f, sizes), product);
  Value total = math::FmaOp::create(builder, loc, accumulator,
                                    block.broadcast(correction, sizes), term);
  return {total, newMaximum, sum};
}

//===----------------------------------------------------------------------===//
// CombineOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyIsOneHead(CombineOp combine) {
  auto type = cast<ShapedType>(combine.getOutput().getType());
  for (auto [name, kind] : {std::pair("batches", DimKind::Batch),
                            std::pair("heads", DimKind::Heads)}) {
    int64_t size = type.getDimSize(combine.getOrder().positionOf(kind));
    if (size == 1)
      continue;
    InFlightDiagnostic diagnostic = combine.emitOpError() << "has ";
    if (ShapedType::isDynamic(size))
      diagnostic << '?';
    else
      diagnostic << size;
    return diagnostic << ' ' << name
                      << ", expected 1: tile before decomposing (fa-tile)";
  }
  return success();
}

/// The rows of this piece that are queries of the batch.
static OpFoldResult getValidRows(OpBuilder &builder, CombineOp combine) {
  Location loc = combine.getLoc();
  OpFoldResult rows = getMixedSize(builder, loc, combine.getOutput(),
                                   combine.getOrder(), DimKind::Sequence);
  Value lengths = combine.getQueryLengths();
  if (!lengths)
    return rows;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value batch = combine.getBatchOffset() ? combine.getBatchOffset() : zero;
  Value length = loadLength(builder, loc, lengths, batch);
  if (combine.getQueryOffset())
    length =
        arith::SubIOp::create(builder, loc, length, combine.getQueryOffset());
  length = arith::MaxSIOp::create(builder, loc, length, zero);
  return getSmaller(builder, loc, rows, length);
}

static SmallVector<Value> decompose(OpBuilder &builder, CombineOp combine) {
  Location loc = combine.getLoc();
  BlockTensors block(builder, loc);
  DimsAttr order = combine.getOrder();
  OpFoldResult rows = getValidRows(builder, combine);
  auto outputPlace = block.getMatrix(combine.getOutput(), order, rows);
  // m = max(lse_a, lse_b), 0 where both are -inf
  Value lseA = block.loadRow(combine.getLseA());
  Value lseB = block.loadRow(combine.getLseB());
  Value maximum = arith::MaximumFOp::create(builder, loc, lseA, lseB);
  Value isEmpty = block.isEqual(maximum, negativeInfinity);
  Value shift = block.select(isEmpty, block.splatLike(0.0f, maximum), maximum);
  // weight = exp(lse - m)
  auto getWeight = [&](Value lse) -> Value {
    Value difference = arith::SubFOp::create(builder, loc, lse, shift);
    return math::ExpOp::create(builder, loc, difference);
  };
  Value weightA = getWeight(lseA), weightB = getWeight(lseB);
  Value total = arith::AddFOp::create(builder, loc, weightA, weightB);
  // output = (weight_a * o_a + weight_b * o_b) / (weight_a + weight_b). What
  // has the weight 0 may hold anything and is not read into the sum.
  Value outputA = block.extend(block.loadMatrix(combine.getOutputA(), order));
  Value outputB = block.extend(block.loadMatrix(combine.getOutputB(), order));
  SmallVector<OpFoldResult> sizes = block.getSizes(outputA);
  Value zeros = block.splat(0.0f, sizes);
  auto term = [&](Value output, Value weight) {
    Value weights = block.broadcast(weight, sizes);
    Value product = arith::MulFOp::create(builder, loc, output, weights);
    return block.select(block.isEqual(weights, 0.0f), zeros, product);
  };
  Value sum = arith::AddFOp::create(builder, loc, term(outputA, weightA),
                                    term(outputB, weightB));
  Value output =
      arith::DivFOp::create(builder, loc, sum, block.broadcast(total, sizes));
  Value maxima = block.broadcast(maximum, sizes);
  output = block.select(block.isEqual(maxima, negativeInfinity), zeros, output);
  output = block.truncate(output,
                          getElementTypeOrSelf(combine.getOutput().getType()));
  // The output first: the merged lse may overwrite the lse that it reads.
  SmallVector<Value> results{block.store(output, outputPlace)};
  if (combine.getLse()) {
    auto lsePlace = block.getRow(combine.getLse(), rows);
    // lse = m + log(weight_a + weight_b)
    Value lse = arith::AddFOp::create(builder, loc, shift,
                                      math::LogOp::create(builder, loc, total));
    lse = block.select(isEmpty, block.splatLike(negativeInfinity, lse), lse);
    results.push_back(block.store(lse, lsePlace));
  }
  llvm::erase(results, Value());
  return results;
}

//===----------------------------------------------------------------------===//
// Interface and pass
//===----------------------------------------------------------------------===//

namespace {
struct StepModel
    : public linalg::AggregatedOpInterface::ExternalModel<StepModel,
                                                          OnlineAttentionOp> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &builder) const {
    return decompose(builder, cast<OnlineAttentionOp>(op));
  }
};

struct FinalizeModel
    : public linalg::AggregatedOpInterface::ExternalModel<FinalizeModel,
                                                          FinalizeOp> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &builder) const {
    return decompose(builder, cast<FinalizeOp>(op));
  }
};

struct AddPartialModel
    : public linalg::AggregatedOpInterface::ExternalModel<AddPartialModel,
                                                          AddPartialOp> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &builder) const {
    return decompose(builder, cast<AddPartialOp>(op));
  }
};

struct CombineModel
    : public linalg::AggregatedOpInterface::ExternalModel<CombineModel,
                                                          CombineOp> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &builder) const {
    auto combine = cast<CombineOp>(op);
    if (failed(verifyIsOneHead(combine)))
      return failure();
    return decompose(builder, combine);
  }
};

struct DecomposeStepPass
    : public fa::impl::FADecomposeStepBase<DecomposeStepPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FADecomposeStepBase::getDependentDialects(registry);
    registerDecomposeExternalModels(registry);
  }

  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation()->walk([&](linalg::AggregatedOpInterface op) {
      if (isa<FADialect>(op->getDialect()))
        all.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : all)
      if (failed(decomposeStep(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace

LogicalResult mlir::fa::decomposeStep(RewriterBase &rewriter, Operation *op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> results =
      cast<linalg::AggregatedOpInterface>(op).decomposeOperation(rewriter);
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}

void mlir::fa::registerDecomposeExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FADialect *dialect) {
    OnlineAttentionOp::attachInterface<StepModel>(*context);
    FinalizeOp::attachInterface<FinalizeModel>(*context);
    AddPartialOp::attachInterface<AddPartialModel>(*context);
    CombineOp::attachInterface<CombineModel>(*context);
    attachDecomposeGradientModels(context);
    // What the models write with.
    context->loadDialect<bufferization::BufferizationDialect>();
  });
}
