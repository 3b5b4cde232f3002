//===- OnlineSoftmax.cpp - Steps and result on block values ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "QueryBlock.h"
#include "RealRange.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr float infinity = std::numeric_limits<float>::infinity();

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
  int64_t registers = rows * (keys + padColumns(valueDim)) / (32 * warps);
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
  // The first block has nothing to rescale.
  Value first = IsFirstOp::create(inside, loc, inside.getI1Type()).getResult();
  Value longSum = math::FmaOp::create(
      inside, loc, sum, blocks.broadcast(alpha, partType), blockSum);
  Value newSum = blocks.select(first, blockSum, longSum);
  Value rescaled =
      arith::MulFOp::create(inside, loc, acc, blocks.broadcast(alpha, accType));
  // Before its product the step is the older one, which may be the first.
  bool isAfter = config.getRescale() == RescalePlace::after_product;
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
  Value loadLimit;
  if (step.getExtents().empty())
    return step.emitOpError() << "has no extents, expected the valid queries "
                                 "and keys of its batch";
  place.queries = mapped(step.getExtents()[0]);
  place.keys = mapped(step.getExtents()[1]);
  loadLimit = place.keys;

  FailureOr<Value> k =
      fetch(inside, mapped(step.getKey()), step.getKeyOrder(), keys, loadLimit);
  if (failed(k))
    return failure();
  FailureOr<Value> s = emitScores(outside, inside, place, mapping, end, *k);
  if (failed(s))
    return failure();

  Weights weights =
      isBounded ? weighBounded(inside, *s) : weigh(inside, *s, config);
  FailureOr<Value> v = fetch(inside, mapped(step.getValue()),
                             step.getValueOrder(), keys, loadLimit);
  if (failed(v))
    return failure();
  Value newAcc = fagpu::ProductOp::create(
      inside, loc, accType, fagpu::MatrixForm::nn,
      blocks.truncate(weights.weights, element), *v, weights.accumulated);
  YieldOp::create(inside, loc,
                  ValueRange{newAcc, weights.maximum, weights.sum});
  return success();
}

void QueryBlock::emitResult() {
  Location loc = finalize.getLoc();
  OpBuilder builder(finalize);
  Blocks blocks(builder, loc);
  Value acc = newRanges.getResult(0), maximum = newRanges.getResult(1);
  Value sum = fagpu::ReduceOp::create(
      builder, loc, rowType, fagpu::ReductionKind::add, newRanges.getResult(2));
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::arcp |
                                                 arith::FastMathFlags::afn);
  Value reciprocal = arith::DivFOp::create(
      builder, loc, blocks.constant(1.0f, rowType), sum, flags);
  Value inverse = blocks.select(blocks.isEqual(sum, 0.0f),
                                blocks.constant(0.0f, rowType), reciprocal);
  Value lse;
  if (finalize.getLse()) {
    Value logarithm =
        math::Log2Op::create(builder, loc, sum, arith::FastMathFlags::afn);
    Value base2 = math::FmaOp::create(
        builder, loc, maximum, blocks.splat(exponentScale, rowType), logarithm);
    lse = arith::MulFOp::create(builder, loc, base2,
                                blocks.constant(llvm::numbers::ln2f, rowType));
  }
  Value normalised = arith::MulFOp::create(builder, loc, acc,
                                           blocks.broadcast(inverse, accType));
  storeResult(builder, normalised, lse);
}

void QueryBlock::emitEmptyResult() {
  OpBuilder builder(finalize);
  Blocks blocks(builder, finalize.getLoc());
  storeResult(builder, blocks.constant(0.0f, accType),
              blocks.constant(-infinity, rowType));
}

void QueryBlock::storeResult(OpBuilder &builder, Value output, Value lse) {
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  auto store = [&](Value value, Tile tile, int64_t rowDim,
                   DenseI64ArrayAttr sizes, Value columns, int64_t alignment) {
    Value limit = getEnd(builder, tile, rowDim);
    if (finalize.getRows())
      limit = builder.createOrFold<arith::AddIOp>(loc, tile.offsets[rowDim],
                                                  finalize.getRows());
    shift(builder, tile.offsets[rowDim], groupRow);
    SmallVector<Value> offsets;
    for (Value offset : tile.offsets)
      offsets.push_back(blocks.cast32(offset));
    fagpu::StoreOp::create(builder, loc, value, tile.memory, offsets, sizes,
                           blocks.cast32(limit), columns, Value(), Value(),
                           alignment);
  };
  if (finalize.getLse())
    store(lse, *resolve(builder, finalize, finalize.getLse()), 2,
          DenseI64ArrayAttr(), Value(), /*alignment=*/16);
  Tile tile = *resolve(builder, finalize, finalize.getOutput());
  Type type = cast<MemRefType>(tile.memory.getType()).getElementType();
  int64_t sequence = finalize.getOutputOrder().positionOf(DimKind::Sequence);
  // Without sizes the rows go to the second dimension.
  DenseI64ArrayAttr sizes;
  if (sequence != 1) {
    SmallVector<int64_t> box = {1, 1, 1, padColumns(valueDim)};
    box[sequence] = rows;
    sizes = builder.getDenseI64ArrayAttr(box);
  }
  store(blocks.truncate(output, type), tile, sequence, sizes,
        boundColumns(builder, loc, valueDim),
        getAlignment(cast<MemRefType>(tile.memory.getType()), valueDim));
}
