//===- OnlineSoftmax.cpp - Steps on block values --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "QueryBlock.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

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

/// A block of scores behind those that the loop has seen: Milakov and
/// Gimelshein 2018. Exponents are taken from 0 in a row that has seen no key,
/// to avoid the difference of infinities.
QueryBlock::Weights QueryBlock::weigh(OpBuilder &inside, Value scores) {
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
  GPUPart config = getGPUPart(role->getParentOfType<func::FuncOp>());
  place.hasTiles = config.captures == Captures::tiles;
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

  Weights weights = weigh(inside, *s);
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
