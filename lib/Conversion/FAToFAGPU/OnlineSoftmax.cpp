//===- OnlineSoftmax.cpp - Steps on block values --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "QueryBlock.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

/// A block of scores behind those that the loop has seen: Milakov and
/// Gimelshein 2018. Exponents are taken from 0 in a row that has seen no key,
/// to avoid the difference of infinities.
QueryBlock::Weights QueryBlock::emitWeights(OpBuilder &inside, Value scores) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto state = newRanges.getRegionIterArgs();
  Value acc = state[0], maximum = state[1], sum = state[2];
  Value newMaximum = arith::MaxNumFOp::create(
      inside, loc, maximum,
      blocks.reduce(fagpu::ReductionKind::max, scores, rowType));
  Value reference = blocks.select(blocks.isEqual(newMaximum, -infinity),
                                  blocks.constant(0.0f, rowType), newMaximum);
  Value p = blocks.exp(arith::SubFOp::create(
      inside, loc, scores, blocks.broadcast(reference, scoreType)));
  Value alpha =
      blocks.exp(arith::SubFOp::create(inside, loc, maximum, reference));
  Value newSum =
      math::FmaOp::create(inside, loc, sum, alpha,
                          blocks.reduce(fagpu::ReductionKind::add, p, rowType));
  Value scaled =
      arith::MulFOp::create(inside, loc, acc, blocks.broadcast(alpha, accType));
  return {p, newMaximum, newSum, scaled};
}

/// Bulk copies give NaN for keys in a page that is none; keys behind the last
/// one are hidden anyway.
void QueryBlock::spoilMissingPages(Value keys) {
  auto kernel = role->getParentOfType<func::FuncOp>();
  if (!isPaged(step.getKey()) ||
      !copiesSpoilMissingPages(getGPUPart(kernel), step.getKey(),
                               step.getKeyOrder(), !step.getScore().empty()))
    return;
  if (auto fetch = keys.getDefiningOp<fagpu::FetchOp>())
    fetch->setAttr(fagpu::nanAttrName, UnitAttr::get(keys.getContext()));
}

FailureOr<Value> QueryBlock::emitScores(OpBuilder &outside, OpBuilder &inside,
                                        const PairBlock &place,
                                        const IRMapping &mapping, Value end,
                                        Value k) {
  Location loc = step.getLoc();
  Value scores =
      fagpu::ProductOp::create(inside, loc, scoreType, fagpu::MatrixForm::nt,
                               query, k, Value())
          .getResult();
  scores = scale(outside, inside, step, mapping, scores);
  if (!step.getScore().empty()) {
    FailureOr<Value> changed =
        applyRegion(outside, inside, step, place, step.getScore(), mapping,
                    scores, &factors);
    if (failed(changed))
      return failure();
    scores = *changed;
  }
  FailureOr<SmallVector<Value>> hidden =
      hide(outside, inside, step, place, mapping, end, scores, -infinity);
  if (failed(hidden))
    return failure();
  return hidden->front();
}

/// Dropout gives all weights that it keeps one factor: the result takes it, and
/// weights are rounded before others become zero.
Value QueryBlock::applyFactors(OpBuilder &inside, Value weights) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  if (!factors)
    return blocks.truncate(weights, element);
  auto select = factors.getDefiningOp<arith::SelectOp>();
  auto splat =
      select ? select.getTrueValue().getDefiningOp<tensor::SplatOp>() : nullptr;
  if (!splat || !select.getCondition().getDefiningOp<fagpu::DropoutOp>() ||
      !matchPattern(select.getFalseValue(), m_AnyZeroFloat()) ||
      !splat.getInput().getParentRegion()->isAncestor(
          finalize->getParentRegion()))
    return blocks.truncate(arith::MulFOp::create(inside, loc, weights, factors),
                           element);
  resultFactor = splat.getInput();
  Value rounded = blocks.truncate(weights, element);
  auto type = cast<RankedTensorType>(rounded.getType());
  Value zero = arith::ConstantOp::create(
      inside, loc,
      DenseElementsAttr::get(type, inside.getFloatAttr(element, 0.0)));
  return blocks.select(select.getCondition(), rounded, zero);
}

/// One key block.
LogicalResult QueryBlock::emitStep(OpBuilder &outside, OpBuilder &inside,
                                   const IRMapping &mapping) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto mapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  Value key = newRanges.getKey();
  FailureOr<PairBlock> place =
      getPlace(outside, step, mapping, key, /*rowsAreKeys=*/false);
  if (failed(place))
    return failure();
  Value end = inside.createOrFold<arith::AddIOp>(
      loc, place->key, countKeys(step, mapping, newRanges.getCount()));
  EndOfSequence endOfKeys = {place->keys, place->key};

  FailureOr<Value> k = fetchKeys(inside, step, mapped(step.getKey()),
                                 step.getKeyOrder(), columns, endOfKeys);
  if (failed(k))
    return failure();
  spoilMissingPages(*k);
  FailureOr<Value> s = emitScores(outside, inside, *place, mapping, end, *k);
  if (failed(s))
    return failure();

  Weights weights = emitWeights(inside, *s);
  FailureOr<Value> v = fetchKeys(inside, step, mapped(step.getValue()),
                                 step.getValueOrder(), columns, endOfKeys);
  if (failed(v))
    return failure();
  Value newAcc = fagpu::ProductOp::create(
      inside, loc, accType, fagpu::MatrixForm::nn,
      applyFactors(inside, weights.weights), *v, weights.accumulated);
  YieldOp::create(inside, loc,
                  ValueRange{newAcc, weights.maximum, weights.sum});
  return success();
}
