//===- PairScores.cpp - Scores of the pairs of a block --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a block of attention and one of its gradients do alike at each pair:
// `scale`, then `applyRegion` for a score function, then `hide`, the longest
// one. In a branch that only partial blocks take, `hide` asks the mask and the
// ends of rows and columns. What stands before it are its cases, one function
// each.
//
//===----------------------------------------------------------------------===//

#include "PairsTile.h"
#include "SoftmaxStep.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"

using namespace mlir;
using namespace mlir::fa;

/// Ends a branch that hides: `shown` where `visible`, and `values` as they are
/// where the branch is not taken.
SmallVector<Value> PairsTile::yieldHidden(scf::IfOp branch, Value visible,
                                          ValueRange shown, ValueRange values,
                                          float hidden) {
  Location loc = root->getLoc();
  OpBuilder taken = branch.getThenBodyBuilder();
  Blocks blocks(taken, loc);
  SmallVector<Value> results;
  for (Value value : shown)
    results.push_back(
        blocks.select(visible, value, blocks.constant(hidden, scoreType)));
  scf::YieldOp::create(taken, loc, results);
  OpBuilder other = branch.getElseBodyBuilder();
  scf::YieldOp::create(other, loc, values);
  return branch.getResults();
}

/// Values of columns from `end` on, hidden in a branch of its own: only the
/// last block has any.
SmallVector<Value> PairsTile::hideFromEnd(OpBuilder &outside, OpBuilder &inside,
                                          const PairBlock &place, Value end,
                                          ValueRange values, float hidden) {
  Location loc = root->getLoc();
  Value rest = arith::SubIOp::create(inside, loc, end, place.firstColumn());
  Value all = arith::ConstantIndexOp::create(inside, loc, place.columns);
  Value isShort =
      arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, rest, all);
  auto branch = scf::IfOp::create(inside, loc, values.getTypes(), isShort,
                                  /*withElseRegion=*/true);
  OpBuilder atEnd = branch.getThenBodyBuilder();
  Value isBelow = RegionOnBlocks(outside, atEnd, loc, place).isBelow(end);
  return yieldHidden(branch, isBelow, values, values, hidden);
}

/// Whether the block has rows from `rowEnd` on.
Value PairsTile::hasMissingRows(OpBuilder &outside, const PairBlock &place,
                                Value rowEnd) {
  Location loc = root->getLoc();
  Value left = arith::SubIOp::create(outside, loc, rowEnd, place.firstRow());
  Value all = arith::ConstantIndexOp::create(outside, loc, place.rows);
  return arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::slt, left,
                               all);
}

Value PairsTile::isRowBelow(OpBuilder &inside, const PairBlock &place,
                            Value rowEnd) {
  Location loc = root->getLoc();
  Blocks blocks(inside, loc);
  Type indices = scoreType.clone(inside.getI32Type());
  Value row =
      fagpu::IotaOp::create(inside, loc, indices, 0, fagpu::IndexPart::all);
  Value left = arith::SubIOp::create(inside, loc, rowEnd, place.firstRow());
  return arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, row,
                               blocks.splat(blocks.cast32(left), indices));
}

/// Values of rows from `rowEnd` on, hidden in a branch of its own too.
SmallVector<Value> PairsTile::hideMissingRows(OpBuilder &inside,
                                              const PairBlock &place,
                                              Value rowEnd, Value areMissing,
                                              ValueRange values, float hidden) {
  auto branch =
      scf::IfOp::create(inside, root->getLoc(), values.getTypes(), areMissing,
                        /*withElseRegion=*/true);
  OpBuilder atEnd = branch.getThenBodyBuilder();
  return yieldHidden(branch, isRowBelow(atEnd, place, rowEnd), values, values,
                     hidden);
}

FailureOr<SmallVector<Value>>
PairsTile::hide(OpBuilder &outside, OpBuilder &inside,
                AttentionLikeOpInterface step, const PairBlock &place,
                const IRMapping &mapping, Value end, ValueRange values,
                float hidden, Value rowEnd) {
  Location loc = step.getLoc();
  Region &mask = step.getMask();
  if (mask.empty() && !end && !rowEnd)
    return SmallVector<Value>(values);
  Value partial, areMissing;
  if (!mask.empty() || end)
    partial = IsPartialOp::create(inside, loc, inside.getI1Type()).getResult();
  if (rowEnd) {
    areMissing = hasMissingRows(outside, place, rowEnd);
    partial =
        partial
            ? arith::OrIOp::create(inside, loc, partial, areMissing).getResult()
            : areMissing;
  }
  auto branch = scf::IfOp::create(inside, loc, values.getTypes(), partial,
                                  /*withElseRegion=*/true);
  OpBuilder masked = branch.getThenBodyBuilder();
  RegionOnBlocks region(outside, masked, loc, place);
  // An affine mask bounds the keys of each row, which merges with their end.
  bool isAffine = mask.empty() || KeyRangeAnalysis(mask).getObstacles().empty();
  SmallVector<Value> shown(values);
  Value visible;
  if (end && isAffine)
    visible = region.isBelow(end);
  else if (end)
    shown = hideFromEnd(outside, masked, place, end, values, hidden);
  if (!mask.empty()) {
    SmallVector<Value> captures;
    for (Value capture : step.getMaskCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> allowed = region.apply(mask, ValueRange(), captures);
    if (failed(allowed))
      return failure();
    visible =
        visible
            ? arith::AndIOp::create(masked, loc, visible, *allowed).getResult()
            : *allowed;
  }
  if (rowEnd && visible)
    shown = hideMissingRows(masked, place, rowEnd, areMissing, shown, hidden);
  else if (rowEnd)
    visible = isRowBelow(masked, place, rowEnd);
  return yieldHidden(branch, visible, shown, values, hidden);
}

Value PairsTile::scale(OpBuilder &outside, OpBuilder &inside,
                       AttentionLikeOpInterface step, const IRMapping &mapping,
                       Value product) {
  Location loc = step.getLoc();
  Value scale = step.getScale();
  if (!scale)
    scale = makeNumber(outside, loc, getDefaultScale(step));
  Value factors =
      Blocks(inside, loc).splat(mapping.lookupOrDefault(scale), scoreType);
  return scaleScores(inside, step, product, factors);
}

FailureOr<Value> PairsTile::applyRegion(OpBuilder &outside, OpBuilder &inside,
                                        AttentionLikeOpInterface step,
                                        const PairBlock &place, Region &region,
                                        const IRMapping &mapping,
                                        ValueRange inputs, Value *second) {
  RegionOnBlocks onBlocks(outside, inside, step.getLoc(), place);
  SmallVector<Value> captures;
  for (Value capture : step.getScoreCaptures())
    captures.push_back(mapping.lookupOrDefault(capture));
  return onBlocks.apply(region, inputs, captures, second);
}
