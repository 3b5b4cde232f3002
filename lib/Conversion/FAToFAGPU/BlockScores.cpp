//===- BlockScores.cpp - Scores of a query block and a key block ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"
#include "RealRange.h"
#include "fa/Analysis/KeyRangeAnalysis.h"

using namespace mlir;
using namespace mlir::fa;

/// Ends a branch that hides: `shown` where `visible`, and `scores` as they are
/// where the branch is not taken.
Value QueryBlock::yieldHidden(scf::IfOp branch, Value visible, Value shown,
                              Value scores) {
  Location loc = step.getLoc();
  OpBuilder taken = branch.getThenBodyBuilder();
  Blocks blocks(taken, loc);
  Value hidden =
      blocks.select(visible, shown, blocks.constant(-infinity, scoreType));
  scf::YieldOp::create(taken, loc, hidden);
  OpBuilder other = branch.getElseBodyBuilder();
  scf::YieldOp::create(other, loc, scores);
  return branch.getResult(0);
}

/// Scores of keys from `end` on, hidden in a branch of its own: only the last
/// block of the keys has any.
Value QueryBlock::hideFromEnd(OpBuilder &outside, OpBuilder &inside,
                              const PairBlock &place, Value end, Value scores) {
  Location loc = step.getLoc();
  Value rest = arith::SubIOp::create(inside, loc, end, place.key);
  Value all = arith::ConstantIndexOp::create(inside, loc, place.columns);
  Value isShort =
      arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, rest, all);
  auto branch = scf::IfOp::create(inside, loc, TypeRange{scoreType}, isShort,
                                  /*withElseRegion=*/true);
  OpBuilder atEnd = branch.getThenBodyBuilder();
  Value isBelow = RegionOnBlocks(outside, atEnd, loc, place).isBelow(end);
  return yieldHidden(branch, isBelow, scores, scores);
}

FailureOr<Value> QueryBlock::hide(OpBuilder &outside, OpBuilder &inside,
                                  const PairBlock &place,
                                  const IRMapping &mapping, Value end,
                                  Value scores) {
  Location loc = step.getLoc();
  Value partial =
      IsPartialOp::create(inside, loc, inside.getI1Type()).getResult();
  auto branch = scf::IfOp::create(inside, loc, TypeRange{scoreType}, partial,
                                  /*withElseRegion=*/true);
  OpBuilder masked = branch.getThenBodyBuilder();
  RegionOnBlocks region(outside, masked, loc, place);
  Region &mask = step.getMask();
  // An affine mask bounds the keys of each row, which merges with their end.
  bool isAffine = mask.empty() || KeyRangeAnalysis(mask).getObstacles().empty();
  Value shown = scores, visible;
  if (isAffine)
    visible = region.isBelow(end);
  else
    shown = hideFromEnd(outside, masked, place, end, scores);
  if (!mask.empty()) {
    SmallVector<Value> captures;
    for (Value capture : step.getMaskCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> allowed = region.apply(mask, Value(), captures);
    if (failed(allowed))
      return failure();
    visible =
        visible
            ? arith::AndIOp::create(masked, loc, visible, *allowed).getResult()
            : *allowed;
  }
  return yieldHidden(branch, visible, shown, scores);
}

/// Scores without a last factor that is one scalar for all pairs, if it may be
/// part of the exponent's scale: the maximum of a row is then that of the
/// values before it.
Value QueryBlock::foldFactor(OpBuilder &outside, Value scores) {
  auto product = scores.getDefiningOp<arith::MulFOp>();
  if (!product || !product->use_empty() ||
      !arith::bitEnumContainsAll(product.getFastmath(),
                                 arith::FastMathFlags::reassoc))
    return scores;
  for (auto [factor, rest] : {std::pair(product.getRhs(), product.getLhs()),
                              std::pair(product.getLhs(), product.getRhs())}) {
    auto splat = factor.getDefiningOp<tensor::SplatOp>();
    if (!splat || !isNonNegative(splat.getInput()))
      continue;
    Location loc = step.getLoc();
    exponentScale = arith::MulFOp::create(
        outside, loc, exponentScale, makePositive(outside, splat.getInput()));
    Value folded = rest;
    product.erase();
    return folded;
  }
  return scores;
}

/// Whether exponents are so small that powers of 2 and their sums stay in the
/// range of f32, and of the type that they are rounded to.
bool QueryBlock::hasSmallExponents(Value scores) {
  constexpr double largestExponent = 73.0;
  return element.isBF16() && getRealRange(scores).getSize() *
                                     getRealRange(exponentScale).getSize() <=
                                 largestExponent;
}

/// Scores times their scale in the exponent; two factors that all pairs have
/// are multiplied before.
Value QueryBlock::makeExponents(OpBuilder &outside, OpBuilder &inside,
                                Value scores) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  Value factor = exponentScale;
  if (auto product = scores.getDefiningOp<arith::MulFOp>())
    for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                              std::pair(product.getRhs(), product.getLhs())})
      if (auto splat = one.getDefiningOp<tensor::SplatOp>()) {
        factor = arith::MulFOp::create(outside, loc, factor, splat.getInput());
        scores = other;
        break;
      }
  return arith::MulFOp::create(inside, loc, scores,
                               blocks.splat(factor, scoreType));
}

FailureOr<Value> QueryBlock::emitScores(OpBuilder &outside, OpBuilder &inside,
                                        const PairBlock &place,
                                        const IRMapping &mapping, Value end,
                                        Value k) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  Value scores =
      fagpu::ProductOp::create(inside, loc, scoreType, fagpu::MatrixForm::nt,
                               query, k, Value())
          .getResult();
  if (!scaleFolded) {
    Value scale = step.getScale();
    if (!scale)
      scale = arith::ConstantOp::create(
          outside, loc,
          outside.getF32FloatAttr(1.0f /
                                  std::sqrt(static_cast<float>(headDim))));
    // The region asks for no rounding of its own between scale and sum, or
    // between scale and another factor.
    scores = arith::MulFOp::create(
        inside, loc, scores,
        blocks.splat(mapping.lookupOrDefault(scale), scoreType),
        arith::FastMathFlags::contract | arith::FastMathFlags::reassoc);
  }
  if (!step.getScore().empty()) {
    RegionOnBlocks region(outside, inside, loc, place);
    SmallVector<Value> captures;
    for (Value capture : step.getScoreCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> changed = region.apply(step.getScore(), scores, captures);
    if (failed(changed))
      return failure();
    scores = foldFactor(outside, *changed);
  }
  if (hasSmallExponents(scores)) {
    isBounded = true;
    scores = makeExponents(outside, inside, scores);
  }
  return hide(outside, inside, place, mapping, end, scores);
}
