//===- DecomposeGradient.cpp - Steps of gradients as block algebra --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of the gradients of attention, their begin and their end, each
// written as the formula of its description, as DecomposeStep.cpp writes those
// of attention. Read `computeWeightGradient` first: both steps share it.
//
//===----------------------------------------------------------------------===//

#include "DecomposeGradient.h"
#include "ComputedRows.h"
#include "PairTensors.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr float infinity = std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// What both steps compute
//===----------------------------------------------------------------------===//

namespace {
/// Weights of the pairs of a block, and the gradient of their scores.
struct WeightGradient {
  /// query * key^T, p = exp(x - lse), and ds; rows are those of the state.
  Value products, weights, scores;
  /// Weights times their factors, which values are multiplied by.
  Value factored;
  /// What scatters into gradients of captures add for each pair, and the scores
  /// that their indices may depend on.
  SmallVector<Value> scattered;
  Value scaled;
};

/// The matrices of a step: of its rows, and of its columns.
struct StepOperands {
  Value query, key, value, outputGradient;
};
} // namespace

/// The region without what adds to gradients of captures: that becomes further
/// results, in the order of the text.
static void yieldScattered(ApplyOp apply) {
  Block &body = apply.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto scatter :
       llvm::make_early_inc_range(body.getOps<ScatterGradientOp>())) {
    yield.getResultsMutable().append(scatter.getValue());
    scatter.erase();
  }
}

/// ds and what is scattered, of dx. Pairs that the mask hides have the
/// gradient 0, whatever the region makes of their scores.
template <typename OpTy>
static void applyScoreGradient(OpTy step, PairTensors &pairs, Value gradient,
                               Value scaled, WeightGradient &result) {
  if (step.getScoreGradient().empty()) {
    result.scores = gradient;
    return;
  }
  auto scatters = step.getScoreGradient().template getOps<ScatterGradientOp>();
  SmallVector<Type> types(1 + std::distance(scatters.begin(), scatters.end()),
                          gradient.getType());
  ApplyOp apply = pairs.apply(step.getScoreGradient(), {gradient, scaled},
                              types, step.getScoreCaptures());
  yieldScattered(apply);
  result.scores = pairs.applyMask(apply.getResult(0), 0.0f);
  result.scaled = scaled;
  for (Value value : apply.getResults().drop_front())
    result.scattered.push_back(pairs.applyMask(value, 0.0f));
}

/// `numbers` broadcasts lse or delta of the queries to the pairs.
template <typename OpTy>
static WeightGradient
computeWeightGradient(OpTy step, PairTensors &pairs, BlockTensors &block,
                      const StepOperands &operands,
                      function_ref<Value(Value, float)> broadcast) {
  OpBuilder &builder = block.builder;
  Location loc = block.loc;
  bool rowsAreKeys = pairs.areRowsKeys();
  WeightGradient result;
  // x = score(scale * query * key^T), -inf where hidden
  result.products = rowsAreKeys ? pairs.multiply(operands.key, operands.query)
                                : pairs.multiply(operands.query, operands.key);
  Value scaled = pairs.applyScale(result.products);
  PairTensors::Scores scored = pairs.applyScore(scaled);
  Value scores = pairs.applyMask(scored.values, -infinity);
  // p = exp(x - lse)
  Value difference = arith::SubFOp::create(builder, loc, scores,
                                           broadcast(step.getLse(), infinity));
  result.weights = math::ExpOp::create(builder, loc, difference);
  result.factored = pairs.applyFactors(result.weights, scored);
  // dx = p * (factor * (do * value^T) - delta)
  Value weightGradient =
      rowsAreKeys ? pairs.multiply(operands.value, operands.outputGradient)
                  : pairs.multiply(operands.outputGradient, operands.value);
  weightGradient = pairs.applyFactors(weightGradient, scored);
  Value centered = arith::SubFOp::create(builder, loc, weightGradient,
                                         broadcast(step.getDelta(), 0.0f));
  Value gradient =
      arith::MulFOp::create(builder, loc, result.weights, centered);
  applyScoreGradient(step, pairs, gradient, scaled, result);
  return result;
}

/// Rows of the state, or of a block of queries without one.
static OpFoldResult getRows(OpBuilder &builder, GradientQueriesOp step) {
  Location loc = step.getLoc();
  if (step.getQueryAccumulator())
    return getMixedSize(builder, loc, step.getQueryAccumulator(), 0);
  if (step.getConfigAttr())
    return builder.getIndexAttr(step.getConfigAttr().getQueryBlock());
  return getMixedSize(builder, loc, step.getQuery(), step.getQueryOrder(),
                      DimKind::Sequence);
}

//===----------------------------------------------------------------------===//
// What a step adds to memory
//===----------------------------------------------------------------------===//

/// The region of a scatter's indices, of the region of the score's gradient.
/// Returns whether they depend on the score.
static bool takeIndices(ScatterGradientOp scatter, Region &region) {
  IRMapping mapping;
  scatter->getParentRegion()->cloneInto(&region, mapping);
  Block &body = region.front();
  cast<YieldOp>(body.getTerminator())
      .getResultsMutable()
      .assign(llvm::map_to_vector(scatter.getIndices(), [&](Value index) {
        return mapping.lookup(index);
      }));
  SmallVector<Operation *> nested(
      llvm::make_pointer_range(body.without_terminator()));
  for (Operation *op : llvm::reverse(nested))
    if (op->use_empty())
      op->erase();
  // No index depends on a gradient.
  body.eraseArgument(0);
  if (!body.getArgument(0).use_empty())
    return true;
  body.eraseArgument(0);
  return false;
}

/// 0 for queries of padding, and for those that see no key, whatever their
/// scores.
static Value clearEmptyRows(BlockTensors &block, Value values, Value lses) {
  return block.select(block.isEqual(lses, infinity),
                      block.splatLike(0.0f, values), values);
}

/// Values of pairs that there are: rows of keys that are padding have weights
/// that may be infinite, where those of queries are 0.
template <typename OpTy>
static Value dropPadding(OpTy step, PairTensors &pairs, BlockTensors &block,
                         Value values) {
  if (!pairs.areRowsKeys())
    return values;
  return block.firstRows(values,
                         getMixedSize(block.builder, block.loc, step.getKey(),
                                      step.getKeyOrder(), DimKind::Sequence));
}

/// Adds what is scattered to gradients of captures.
template <typename OpTy>
static void addScattered(OpTy step, PairTensors &pairs, BlockTensors &block,
                         Value lses, const WeightGradient &gradient) {
  if (step.getScoreGradient().empty())
    return;
  Block &body = step.getScoreGradient().front();
  for (auto [scatter, value] : llvm::zip_equal(
           body.template getOps<ScatterGradientOp>(), gradient.scattered)) {
    const auto *found =
        llvm::find(step.getDifferentiated(), scatter.getCaptureNumber());
    if (found == step.getDifferentiated().end())
      continue;
    Value destination =
        step.getCaptureGradients()[found - step.getDifferentiated().begin()];
    auto add = ScatterAddOp::create(
        block.builder, block.loc,
        dropPadding(step, pairs, block, clearEmptyRows(block, value, lses)),
        destination, /*scores=*/Value(), pairs.getOffsets(), pairs.getExtents(),
        step.getScoreCaptures(),
        pairs.areRowsKeys() ? block.builder.getUnitAttr() : UnitAttr());
    if (takeIndices(scatter, add.getBody()))
      add.getScoresMutable().assign(gradient.scaled);
  }
}

/// scale = scale + sum of ds * (query * key^T)
template <typename OpTy>
static void addToScale(OpTy step, PairTensors &pairs, BlockTensors &block,
                       Value lses, const WeightGradient &gradient) {
  if (!step.getScaleGradient())
    return;
  OpBuilder &builder = block.builder;
  Location loc = block.loc;
  Value products =
      arith::MulFOp::create(builder, loc, gradient.scores, gradient.products);
  products =
      dropPadding(step, pairs, block, clearEmptyRows(block, products, lses));
  Value zeros = block.splat(0.0f, block.getSizes(products)[0]);
  Value sums = block.reduce<arith::AddFOp>(products, zeros);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{},
                                        builder.getF32Type());
  Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  Value total = block.reduce<arith::AddFOp>(sums, init);
  Value term = tensor::ExtractOp::create(builder, loc, total, ValueRange());
  Value old = memref::LoadOp::create(builder, loc, step.getScaleGradient());
  Value next = arith::AddFOp::create(builder, loc, old, term);
  memref::StoreOp::create(builder, loc, next, step.getScaleGradient());
}

/// `broadcast` broadcasts lse to the pairs.
template <typename OpTy>
static void addToCaptures(OpTy step, PairTensors &pairs, BlockTensors &block,
                          const WeightGradient &gradient,
                          function_ref<Value(Value, float)> broadcast) {
  if (!step.getScaleGradient() && step.getCaptureGradients().empty())
    return;
  Value lses = broadcast(step.getLse(), infinity);
  addScattered(step, pairs, block, lses, gradient);
  addToScale(step, pairs, block, lses, gradient);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// query = query + ds^T * key, in memory. Rows of padding have no part in it:
/// their weights may be infinite.
static void addToQueries(GradientKeysOp step, BlockTensors &block, Value key,
                         Value scores) {
  OpBuilder &builder = block.builder;
  Value memory = step.getQueryGradient();
  DimsAttr order = step.getQueryGradientOrder();
  OpFoldResult queries =
      getMixedSize(builder, block.loc, memory, order, DimKind::Sequence);
  OpFoldResult keys = getMixedSize(builder, block.loc, step.getKey(),
                                   step.getKeyOrder(), DimKind::Sequence);
  auto place = block.getMatrix(memory, order, queries);
  Value sum =
      block.contract(block.firstRows(scores, keys), block.firstRows(key, keys),
                     block.loadForUpdate(place), {{2, 0}, {2, 1}, {0, 1}},
                     step.getConfigAttr());
  block.storeUpdate(sum, place);
}

static SmallVector<Value> decompose(OpBuilder &builder, GradientKeysOp step) {
  Location loc = step.getLoc();
  BlockTensors block(builder, loc);
  Value state = step.getKeyAccumulator() ? step.getKeyAccumulator()
                                         : step.getValueAccumulator();
  PairTensors pairs(builder, step, step.getConfigAttr(), /*rowsAreKeys=*/true,
                    getStateRows(builder, loc, state));
  StepOperands operands;
  operands.key = pairs.loadRows(step.getKey(), step.getKeyOrder());
  operands.value = pairs.loadRows(step.getValue(), step.getValueOrder());
  operands.query = block.loadMatrix(step.getQuery(), step.getQueryOrder());
  operands.outputGradient =
      block.loadMatrix(step.getOutputGradient(), step.getOutputGradientOrder());
  auto broadcast = [&](Value numbers, float) {
    return block.broadcastColumns(block.loadRow(numbers), pairs.getSizes());
  };
  WeightGradient gradient =
      computeWeightGradient(step, pairs, block, operands, broadcast);
  addToCaptures(step, pairs, block, gradient, broadcast);
  if (step.getQueryGradient())
    addToQueries(step, block, operands.key, gradient.scores);
  SmallVector<SmallVector<unsigned>> loops = {{0, 2}, {2, 1}, {0, 1}};
  // What else it adds to is written by now.
  SmallVector<Value> results, states;
  // key = key + ds * query, value = value + p * factor * do
  auto add = [&](Value state, Value weights, Value rows) {
    if (!state)
      return;
    results.push_back(block.contract(weights, rows, block.loadState(state),
                                     loops, step.getConfigAttr()));
    states.push_back(state);
  };
  add(step.getKeyAccumulator(), gradient.scores, operands.query);
  add(step.getValueAccumulator(), gradient.factored, operands.outputGradient);
  return block.storeState(results, states);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

static SmallVector<Value> decompose(OpBuilder &builder,
                                    GradientQueriesOp step) {
  Location loc = step.getLoc();
  BlockTensors block(builder, loc);
  PairTensors pairs(builder, step, step.getConfigAttr(), /*rowsAreKeys=*/false,
                    getRows(builder, step));
  StepOperands operands;
  operands.query = pairs.loadRows(step.getQuery(), step.getQueryOrder());
  operands.outputGradient =
      pairs.loadRows(step.getOutputGradient(), step.getOutputGradientOrder());
  operands.key = block.loadMatrix(step.getKey(), step.getKeyOrder());
  operands.value = block.loadMatrix(step.getValue(), step.getValueOrder());
  auto broadcast = [&](Value numbers, float padding) {
    return block.broadcast(pairs.loadRowNumbers(numbers, padding),
                           pairs.getSizes());
  };
  WeightGradient gradient =
      computeWeightGradient(step, pairs, block, operands, broadcast);
  addToCaptures(step, pairs, block, gradient, broadcast);
  if (!step.getQueryAccumulator())
    return {};
  // query = query + ds * key
  Value result = block.contract(gradient.scores, operands.key,
                                block.loadState(step.getQueryAccumulator()),
                                {{0, 2}, {2, 1}, {0, 1}}, step.getConfigAttr());
  return block.storeState(result, step.getQueryAccumulator());
}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

static SmallVector<Value> decompose(OpBuilder &builder, PrepareGradientOp op) {
  Location loc = op.getLoc();
  BlockTensors block(builder, loc);
  OpFoldResult valid = getAsOpFoldResult(op.getRows());
  OpFoldResult rows = getMixedSize(builder, loc, op.getDelta(), 2);
  // A block of a configuration has a size that is known.
  OpFoldResult padded = op.getConfigAttr()
                            ? OpFoldResult(builder.getIndexAttr(
                                  op.getConfigAttr().getQueryBlock()))
                            : rows;
  // Rows behind the last one are rows that see no key.
  auto loadNumbers = [&](Value numbers, float padding) {
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    Value part = createSlice(builder, loc, numbers, {zero, zero, zero},
                             {one, one, valid});
    return block.padRows(block.loadRow(part), padded, padding);
  };
  auto loadTile = [&](Value operand, DimsAttr order) {
    Value part = createSliceOf(builder, loc, operand, order, DimKind::Sequence,
                               builder.getIndexAttr(0), valid);
    return block.extend(block.padRows(block.loadMatrix(part, order), padded));
  };
  auto deltaPlace = block.getRow(op.getDelta(), rows);
  auto referencePlace = block.getRow(op.getReference(), rows);
  Value lse = loadNumbers(op.getLse(), -infinity);
  Value isEmpty = block.isEqual(lse, -infinity);
  Value delta;
  if (op.getGivenDelta()) {
    delta = loadNumbers(op.getGivenDelta(), 0.0f);
  } else {
    // delta = sum over e of do(e) * o(e) - dlse
    Value output = loadTile(op.getOutput(), op.getOutputOrder());
    Value gradient =
        loadTile(op.getOutputGradient(), op.getOutputGradientOrder());
    Value products = arith::MulFOp::create(builder, loc, output, gradient);
    delta = block.reduce<arith::AddFOp>(products, block.splatLike(0.0f, lse));
    if (op.getLseGradient())
      delta = arith::SubFOp::create(builder, loc, delta,
                                    loadNumbers(op.getLseGradient(), 0.0f));
  }
  delta = block.select(isEmpty, block.splatLike(0.0f, lse), delta);
  // NaN stays.
  Value isTooLarge =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                            math::AbsFOp::create(builder, loc, lse),
                            block.splatLike(largestKnownLse, lse));
  Value reference =
      block.select(isTooLarge, block.splatLike(infinity, lse), lse);
  block.store(delta, deltaPlace);
  block.store(reference, referencePlace);
  if (op.getQuerySums()) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
    linalg::FillOp::create(builder, loc, zero, op.getQuerySums());
  }
  return {};
}

static SmallVector<Value> decompose(OpBuilder &builder, FinalizeGradientOp op) {
  Location loc = op.getLoc();
  BlockTensors block(builder, loc);
  OpFoldResult valid = getAsOpFoldResult(op.getRows());
  OpFoldResult rows = getMixedSize(builder, loc, op.getOutput(), op.getOrder(),
                                   DimKind::Sequence);
  auto place = block.getMatrix(op.getOutput(), op.getOrder(), rows);
  Value gradient = block.loadState(op.getAccumulator());
  SmallVector<OpFoldResult> sizes = block.getSizes(gradient);
  if (!isEqualConstantIntOrValue(valid, rows))
    gradient = block.padRows(block.firstRows(gradient, valid), sizes[0]);
  if (op.getScale())
    gradient = arith::MulFOp::create(builder, loc, gradient,
                                     block.splat(op.getScale(), sizes));
  gradient =
      block.truncate(gradient, getElementTypeOrSelf(op.getOutput().getType()));
  block.store(gradient, place);
  return {};
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy>
struct GradientModel
    : public linalg::AggregatedOpInterface::ExternalModel<GradientModel<OpTy>,
                                                          OpTy> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &builder) const {
    return decompose(builder, cast<OpTy>(op));
  }
};
} // namespace

void mlir::fa::attachDecomposeGradientModels(MLIRContext *context) {
  GradientKeysOp::attachInterface<GradientModel<GradientKeysOp>>(*context);
  GradientQueriesOp::attachInterface<GradientModel<GradientQueriesOp>>(
      *context);
  PrepareGradientOp::attachInterface<GradientModel<PrepareGradientOp>>(
      *context);
  FinalizeGradientOp::attachInterface<GradientModel<FinalizeGradientOp>>(
      *context);
}
