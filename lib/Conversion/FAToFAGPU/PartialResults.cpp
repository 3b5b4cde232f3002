//===- PartialResults.cpp - Results of parts of the keys on blocks --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop of fa-split-keys that adds parts to a state, several of them a step,
// and the steps of fa-combine-to-state, on block values. Read
// `QueryBlock::rebuildMerge`.
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"

using namespace mlir;
using namespace mlir::fa;

/// Parts that one step adds: what it reads of them is on its way at once. Those
/// that are left are fewer.
static constexpr int64_t partsAtOnce = 8, restAtOnce = 2;
/// Of all parts that are added at once.
static constexpr int64_t mostColumns = 256;

/// What a part has of a block; nothing where `isPart` is false, which reads no
/// memory. Null: it is one.
FailureOr<QueryBlock::Partial>
QueryBlock::readPartial(OpBuilder &builder, AddPartialOp op, Value isPart) {
  Location loc = op.getLoc();
  Blocks blocks(builder, loc);
  FailureOr<Tile> place = resolve(builder, op, op.getOutput());
  FailureOr<Tile> numbers = resolve(builder, op, op.getLse());
  if (failed(place) || failed(numbers))
    return failure();
  auto endWhere = [&](const Tile &tile, int64_t dim) -> Value {
    Value end = getEnd(builder, tile, dim);
    if (!isPart)
      return end;
    return arith::SelectOp::create(builder, loc, isPart, end,
                                   tile.offsets[dim]);
  };
  FailureOr<Value> output = fetch(
      builder, op, op.getOutput(), DimsAttr::getDefault(op.getContext()), rows,
      EndOfSequence{endWhere(*place, 1), place->offsets[1]}, groupRow);
  if (failed(output))
    return failure();
  // Rows behind the last one are padding, and are not read.
  RankedTensorType indexType = rowType.clone(builder.getI32Type());
  Value row =
      fagpu::IotaOp::create(builder, loc, indexType, 0, fagpu::IndexPart::all);
  Value first = numbers->offsets[2];
  Value end = endWhere(*numbers, 2);
  shift(builder, first, groupRow);
  row = arith::AddIOp::create(builder, loc, row,
                              blocks.splat(blocks.cast32(first), indexType));
  Value isRow =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row,
                            blocks.splat(blocks.cast32(end), indexType));
  SmallVector<Value> indices = {blocks.cast32(numbers->offsets[0]),
                                blocks.cast32(numbers->offsets[1]), row};
  Value lse =
      fagpu::GatherOp::create(builder, loc, rowType, numbers->memory, indices,
                              isRow, /*pairs=*/false, /*in_order=*/false);
  if (isPart)
    lse = blocks.select(isRow, lse, blocks.constant(-infinity, rowType));
  return Partial{*output, lse};
}

/// The state with all of `added`, in their order: m' is the largest of m and
/// their lse, and each is weighed by exp(lse - m').
SmallVector<Value> QueryBlock::addPartials(OpBuilder &builder,
                                           ArrayRef<Partial> added,
                                           ValueRange state) {
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  Value maximum = state[1];
  for (const Partial &part : added)
    maximum = arith::MaximumFOp::create(builder, loc, maximum, part.lse);
  // 0 in place of a maximum of -inf
  Value shiftBy = blocks.select(blocks.isEqual(maximum, -infinity),
                                blocks.constant(0.0f, rowType), maximum);
  auto getWeight = [&](Value number) {
    return blocks.exp(arith::SubFOp::create(builder, loc, number, shiftBy));
  };
  Value correction = getWeight(state[1]);
  Value sum = arith::MulFOp::create(builder, loc, state[2], correction);
  Value total = arith::MulFOp::create(builder, loc, state[0],
                                      blocks.broadcast(correction, accType));
  for (const Partial &part : added) {
    Value weight = getWeight(part.lse);
    sum = arith::AddFOp::create(builder, loc, sum, weight);
    // What has the weight 0 may hold anything and is not read into the sum.
    Value weights = blocks.broadcast(weight, accType);
    Value output = blocks.select(blocks.isEqual(weights, 0.0f),
                                 blocks.constant(0.0f, accType), part.output);
    total = math::FmaOp::create(builder, loc, output, weights, total);
  }
  return {total, maximum, sum};
}

/// A loop over parts, `atOnce` a step.
LogicalResult QueryBlock::addParts(Value begin, Value end, int64_t atOnce,
                                   bool isWhole) {
  OpBuilder outside(parts);
  Location loc = parts.getLoc();
  auto constant = [&](OpBuilder &builder, int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  AddPartialOp step = *parts.getBody()->getOps<AddPartialOp>().begin();
  Value last = arith::SubIOp::create(outside, loc, end, constant(outside, 1));
  auto loop = scf::ForOp::create(outside, loc, begin, end,
                                 constant(outside, atOnce), state);
  OpBuilder inside = OpBuilder::atBlockEnd(loop.getBody());
  SmallVector<Partial> added;
  for (int64_t i = 0; i < atOnce; ++i) {
    Value number = loop.getInductionVar(), isPart;
    if (i > 0)
      number = arith::AddIOp::create(inside, loc, number, constant(inside, i),
                                     arith::IntegerOverflowFlags::nsw);
    if (!isWhole && i > 0) {
      isPart = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt,
                                     number, end);
      number = arith::MinSIOp::create(inside, loc, number, last);
    }
    IRMapping mapping;
    mapping.map(parts.getInductionVar(), number);
    for (Operation &op : parts.getBody()->without_terminator())
      if (&op != step)
        inside.clone(op, mapping);
    // Its slices are those of the new loop.
    auto moved = AddPartialOp::create(
        inside, loc, mapping.lookupOrDefault(step.getOutput()),
        mapping.lookupOrDefault(step.getLse()),
        ValueRange{step.getAccumulator(), step.getMaximum(), step.getSum()});
    inside.setInsertionPoint(moved);
    FailureOr<Partial> part = readPartial(inside, moved, isPart);
    if (failed(part))
      return failure();
    added.push_back(*part);
    inside.setInsertionPointToEnd(loop.getBody());
    moved.erase();
  }
  scf::YieldOp::create(inside, loc,
                       addPartials(inside, added, loop.getRegionIterArgs()));
  state.assign(loop.result_begin(), loop.result_end());
  return success();
}

LogicalResult QueryBlock::rebuildMerge() {
  auto steps = parts.getBody()->getOps<AddPartialOp>();
  if (!llvm::hasSingleElement(steps) || parts.getNumResults() != 3)
    return parts.emitOpError()
           << "holds " << std::distance(steps.begin(), steps.end())
           << " partial results and " << parts.getNumResults()
           << " values, expected one 'fa.add_partial' and its state";
  OpBuilder outside(parts);
  Location loc = parts.getLoc();
  Blocks blocks(outside, loc);
  findGroupRow(outside);
  SmallVector<Value> inits = {blocks.constant(0.0f, accType),
                              blocks.constant(-infinity, rowType),
                              blocks.constant(0.0f, rowType)};
  // Steps of many parts, then of the rest, of which the last one may be none.
  Value end = parts.getUpperBound();
  // Wide ones, of head dims that are not cut, leave registers for fewer.
  int64_t atOnce = std::clamp<int64_t>(
      llvm::bit_floor<uint64_t>(mostColumns / accType.getDimSize(1)), 1,
      partsAtOnce);
  Value many = arith::ConstantIndexOp::create(outside, loc, atOnce);
  Value rest = arith::RemUIOp::create(outside, loc, end, many);
  Value middle = arith::SubIOp::create(outside, loc, end, rest);
  state = inits;
  if (failed(addParts(parts.getLowerBound(), middle, atOnce,
                      /*isWhole=*/true)) ||
      failed(addParts(middle, end, std::min(atOnce, restAtOnce),
                      /*isWhole=*/false)))
    return failure();
  return success();
}

LogicalResult QueryBlock::rebuildPartials() {
  SmallVector<AddPartialOp> steps;
  Value from = finalize.getAccumulator();
  while (auto step = from.getDefiningOp<AddPartialOp>()) {
    steps.push_back(step);
    from = step.getAccumulator();
  }
  if (!from.getDefiningOp<linalg::FillOp>())
    return partial.emitOpError("adds to a state that is not empty, expected "
                               "the results of a merge alone");
  OpBuilder builder(finalize);
  Blocks blocks(builder, finalize.getLoc());
  findGroupRow(builder);
  state = {blocks.constant(0.0f, accType), blocks.constant(-infinity, rowType),
           blocks.constant(0.0f, rowType)};
  SmallVector<Partial> added;
  for (AddPartialOp step : llvm::reverse(steps)) {
    FailureOr<Partial> part = readPartial(builder, step, /*isPart=*/Value());
    if (failed(part))
      return failure();
    added.push_back(*part);
  }
  state = addPartials(builder, added, state);
  // Nothing but the result, which the caller erases, uses the last one.
  for (AddPartialOp step : steps) {
    step->dropAllUses();
    step.erase();
  }
  return success();
}
