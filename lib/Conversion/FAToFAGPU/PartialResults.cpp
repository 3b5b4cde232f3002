//===- PartialResults.cpp - Results of parts of the keys on blocks --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop of fa-split-keys that adds parts to a state, and the steps of
// fa-combine-to-state, on block values. Read `QueryBlock::rebuildMerge`.
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"

using namespace mlir;
using namespace mlir::fa;

FailureOr<SmallVector<Value>>
QueryBlock::addPartial(OpBuilder &builder, AddPartialOp op, ValueRange state) {
  Location loc = op.getLoc();
  Blocks blocks(builder, loc);
  FailureOr<Value> output =
      fetch(builder, op, op.getOutput(), DimsAttr::getDefault(op.getContext()),
            rows, std::nullopt, groupRow);
  FailureOr<Tile> numbers = resolve(builder, op, op.getLse());
  if (failed(output) || failed(numbers))
    return failure();
  // Rows behind the last one are padding, and are not read.
  RankedTensorType indexType = rowType.clone(builder.getI32Type());
  Value row =
      fagpu::IotaOp::create(builder, loc, indexType, 0, fagpu::IndexPart::all);
  Value first = numbers->offsets[2];
  Value end = getEnd(builder, *numbers, 2);
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

  // m' = max(m, lse), 0 in place of it where both are -inf
  Value maximum = arith::MaximumFOp::create(builder, loc, state[1], lse);
  Value shiftBy = blocks.select(blocks.isEqual(maximum, -infinity),
                                blocks.constant(0.0f, rowType), maximum);
  auto weigh = [&](Value number) {
    return blocks.exp(arith::SubFOp::create(builder, loc, number, shiftBy));
  };
  Value correction = weigh(state[1]), weight = weigh(lse);
  Value sum = math::FmaOp::create(builder, loc, state[2], correction, weight);
  // What has the weight 0 may hold anything and is not read into the sum.
  Value weights = blocks.broadcast(weight, accType);
  Value product = arith::MulFOp::create(builder, loc, *output, weights);
  Value term = blocks.select(blocks.isEqual(weights, 0.0f),
                             blocks.constant(0.0f, accType), product);
  Value total = math::FmaOp::create(
      builder, loc, state[0], blocks.broadcast(correction, accType), term);
  return SmallVector<Value>{total, maximum, sum};
}

LogicalResult QueryBlock::rebuildMerge() {
  auto steps = parts.getBody()->getOps<AddPartialOp>();
  if (!llvm::hasSingleElement(steps) || parts.getNumResults() != 3)
    return parts.emitOpError()
           << "holds " << std::distance(steps.begin(), steps.end())
           << " partial results and " << parts.getNumResults()
           << " values, expected one 'fa.add_partial' and its state";
  AddPartialOp step = *steps.begin();
  OpBuilder outside(parts);
  Location loc = parts.getLoc();
  Blocks blocks(outside, loc);
  findGroupRow(outside);
  SmallVector<Value> inits = {blocks.constant(0.0f, accType),
                              blocks.constant(-infinity, rowType),
                              blocks.constant(0.0f, rowType)};
  auto loop = scf::ForOp::create(outside, loc, parts.getLowerBound(),
                                 parts.getUpperBound(), parts.getStep(), inits);
  OpBuilder inside = OpBuilder::atBlockEnd(loop.getBody());
  IRMapping mapping;
  mapping.map(parts.getInductionVar(), loop.getInductionVar());
  for (Operation &op : parts.getBody()->without_terminator())
    if (&op != step)
      inside.clone(op, mapping);
  // Its slices are those of the new loop.
  auto moved = AddPartialOp::create(
      inside, loc, mapping.lookupOrDefault(step.getOutput()),
      mapping.lookupOrDefault(step.getLse()),
      ValueRange{step.getAccumulator(), step.getMaximum(), step.getSum()});
  inside.setInsertionPoint(moved);
  FailureOr<SmallVector<Value>> next =
      addPartial(inside, moved, loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  inside.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(inside, loc, *next);
  moved.erase();
  state.assign(loop.result_begin(), loop.result_end());
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
  for (AddPartialOp step : llvm::reverse(steps)) {
    FailureOr<SmallVector<Value>> next = addPartial(builder, step, state);
    if (failed(next))
      return failure();
    state = *next;
  }
  // Nothing but the result, which the caller erases, uses the last one.
  for (AddPartialOp step : steps) {
    step->dropAllUses();
    step.erase();
  }
  return success();
}
