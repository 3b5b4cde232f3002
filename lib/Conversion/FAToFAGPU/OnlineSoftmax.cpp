//===- OnlineSoftmax.cpp - Steps on block values --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "QueryBlock.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

/// Copies the body but the step; what does not depend on the block goes
/// outside.
void QueryBlock::cloneBody(OpBuilder &outside, OpBuilder &inside,
                           IRMapping &mapping) {
  Region &body = newRanges.getBodyRegion();
  for (Operation &op : ranges.getBodyRegion().front().without_terminator()) {
    if (&op == step)
      continue;
    bool varies = llvm::any_of(op.getOperands(), [&](Value operand) {
      Value mapped = mapping.lookupOrDefault(operand);
      return body.isAncestor(mapped.getParentRegion());
    });
    (varies || !isMemoryEffectFree(&op) ? inside : outside).clone(op, mapping);
  }
}

/// A block of exponents that have a bound: no running maximum is needed.
QueryBlock::Weights QueryBlock::weighBounded(OpBuilder &inside,
                                             Value exponents) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto state = newRanges.getRegionIterArgs();
  Weights weights;
  weights.weights = blocks.exp2(exponents);
  weights.maximum = blocks.constant(0.0f, rowType);
  weights.sum = arith::AddFOp::create(inside, loc, state[2],
                                      sumRows(inside, weights.weights));
  weights.accumulated = state[0];
  return weights;
}

/// The maximum that exponents are taken from: 0 in a row that has seen no key,
/// to avoid the difference of infinities. Where scores are products alone, each
/// row of a full block has one.
Value QueryBlock::getReference(OpBuilder &builder, Value maximum) {
  Location loc = step.getLoc();
  auto choose = [&](OpBuilder &builder) -> Value {
    Blocks blocks(builder, loc);
    return blocks.select(blocks.isEqual(maximum, -infinity),
                         blocks.constant(0.0f, rowType), maximum);
  };
  if (!step.getScore().empty())
    return choose(builder);
  Value partial =
      IsPartialOp::create(builder, loc, builder.getI1Type()).getResult();
  auto branch = scf::IfOp::create(builder, loc, TypeRange{rowType}, partial,
                                  /*withElseRegion=*/true);
  OpBuilder masked = branch.getThenBodyBuilder();
  scf::YieldOp::create(masked, loc, choose(masked));
  OpBuilder unmasked = branch.getElseBodyBuilder();
  scf::YieldOp::create(unmasked, loc, maximum);
  return branch.getResult(0);
}

/// How many keys the step takes: as many as its slice has, since ranges may
/// count places in a list.
Value QueryBlock::countKeys(const IRMapping &mapping) {
  auto slice = step.getKey().getDefiningOp<memref::SubViewOp>();
  if (!slice)
    return newRanges.getCount();
  int64_t sequence = step.getKeyOrder().positionOf(DimKind::Sequence);
  auto size = dyn_cast<Value>(slice.getMixedSizes()[sequence]);
  return size ? mapping.lookupOrDefault(size) : newRanges.getCount();
}

/// The sums of rows that each thread has, in as many chains as registers allow.
Value QueryBlock::sumRows(OpBuilder &inside, Value weights) {
  // Two chains for a row take as many registers again as the sums; of the 255
  // of a thread, what else is live needs about 90.
  int64_t registers = rows * (keys + getColumns(valueDim)) / (32 * warps);
  return fagpu::ReduceOp::create(inside, step.getLoc(), partType,
                                 fagpu::ReductionKind::add, weights,
                                 /*chains=*/registers > 255 - 90 ? 1 : 2);
}

/// A block of scores behind those that the loop has seen: Milakov and
/// Gimelshein 2018, in base 2.
QueryBlock::Weights QueryBlock::weigh(OpBuilder &inside, Value scores,
                                      GPUConfigAttr config) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto state = newRanges.getRegionIterArgs();
  Value acc = state[0], maximum = state[1], sum = state[2];
  Value blockMaximum = fagpu::ReduceOp::create(
      inside, loc, rowType, fagpu::ReductionKind::max, scores);
  Value newMaximum =
      arith::MaxNumFOp::create(inside, loc, maximum, blockMaximum);
  Value reference = getReference(inside, newMaximum);
  Value rowScale = blocks.splat(exponentScale, rowType);
  Value shifted = arith::MulFOp::create(inside, loc, reference, rowScale);
  Value exponent = math::FmaOp::create(
      inside, loc, scores, blocks.splat(exponentScale, scoreType),
      blocks.broadcast(arith::NegFOp::create(inside, loc, shifted), scoreType));
  Value p = blocks.exp2(exponent);
  // Rounded as above, so that an unchanged maximum gives exactly 1.
  Value before = arith::MulFOp::create(inside, loc, maximum, rowScale);
  Value alpha =
      blocks.exp2(arith::SubFOp::create(inside, loc, before, shifted));
  Value blockSum = sumRows(inside, p);
  // The first block has nothing to rescale. Where its flag is not constant, the
  // factor is chosen rather than each of its products.
  Value first = IsFirstOp::create(inside, loc, inside.getI1Type()).getResult();
  bool isRolled = config.getRolled();
  if (isRolled)
    alpha = blocks.select(first, blocks.constant(1.0f, rowType), alpha);
  Value longSum = math::FmaOp::create(
      inside, loc, sum, blocks.broadcast(alpha, partType), blockSum);
  Value newSum = isRolled ? longSum : blocks.select(first, blockSum, longSum);
  Value rescaled =
      arith::MulFOp::create(inside, loc, acc, blocks.broadcast(alpha, accType));
  // Before its product the step is the older one, which may be the first.
  bool isAfter =
      !isRolled && config.getRescale() == RescalePlace::after_product;
  Value scaled = isAfter ? blocks.select(first, acc, rescaled) : rescaled;
  return {p, newMaximum, newSum, scaled};
}

/// One key block.
LogicalResult QueryBlock::emitStep(OpBuilder &outside, OpBuilder &inside,
                                   const IRMapping &mapping) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto mapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  Value key = newRanges.getKey();
  PairBlock place;
  place.rows = rows;
  place.columns = keys;
  place.warps = warps;
  GPUConfigAttr config = getGPUConfig(role->getParentOfType<func::FuncOp>());
  place.hasTiles = config.getCaptures() == Captures::tiles;
  Value zero = arith::ConstantIndexOp::create(outside, loc, 0);
  if (step.getOffsets().empty()) {
    place.batch = place.head = place.query = zero;
    place.key = key;
  } else {
    place.batch = mapped(step.getOffsets()[0]);
    place.head = mapped(step.getOffsets()[1]);
    place.query = mapped(step.getOffsets()[2]);
    place.key = mapped(step.getOffsets()[3]);
  }
  Value end =
      inside.createOrFold<arith::AddIOp>(loc, place.key, countKeys(mapping));
  shift(outside, place.query, groupRow);
  if (step.getExtents().empty())
    return step.emitOpError() << "has no extents, expected the valid queries "
                                 "and keys of its batch";
  place.queries = mapped(step.getExtents()[0]);
  place.keys = mapped(step.getExtents()[1]);
  EndOfKeys endOfKeys = {place.keys, place.key};

  FailureOr<Value> k =
      fetch(inside, mapped(step.getKey()), step.getKeyOrder(), keys, endOfKeys);
  if (failed(k))
    return failure();
  FailureOr<Value> s = emitScores(outside, inside, place, mapping, end, *k);
  if (failed(s))
    return failure();

  Weights weights =
      isBounded ? weighBounded(inside, *s) : weigh(inside, *s, config);
  FailureOr<Value> v = fetch(inside, mapped(step.getValue()),
                             step.getValueOrder(), keys, endOfKeys);
  if (failed(v))
    return failure();
  Value newAcc = fagpu::ProductOp::create(
      inside, loc, accType, fagpu::MatrixForm::nn,
      blocks.truncate(weights.weights, element), *v, weights.accumulated);
  YieldOp::create(inside, loc,
                  ValueRange{newAcc, weights.maximum, weights.sum});
  return success();
}
