//===- BlockScores.cpp - Scores of a query block and a key block ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"
#include "SoftmaxStep.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"

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

Value QueryBlock::scale(OpBuilder &outside, OpBuilder &inside,
                        const IRMapping &mapping, Value product) {
  Location loc = step.getLoc();
  Value scale = step.getScale();
  if (!scale)
    scale = makeNumber(outside, loc, getDefaultScale(step));
  Value factors =
      Blocks(inside, loc).splat(mapping.lookupOrDefault(scale), scoreType);
  return scaleScores(inside, step, product, factors);
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
  scores = scale(outside, inside, mapping, scores);
  if (!step.getScore().empty()) {
    RegionOnBlocks region(outside, inside, loc, place);
    SmallVector<Value> captures;
    for (Value capture : step.getScoreCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> changed = region.apply(step.getScore(), scores, captures);
    if (failed(changed))
      return failure();
    scores = *changed;
  }
  return hide(outside, inside, place, mapping, end, scores);
}
