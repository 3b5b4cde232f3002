//===- PairTensors.cpp - Scores of the pairs of a block -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairTensors.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Support/MemoryWrites.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

PairTensors::PairTensors(OpBuilder &builder, AttentionLikeOpInterface step,
                         ConfigAttr config, bool rowsAreKeys, OpFoldResult rows)
    : step(step), block(builder, step.getLoc()), config(config),
      rowsAreKeys(rowsAreKeys) {
  offsets = step.getOffsets();
  extents = step.getExtents();
  if (offsets.empty())
    offsets.assign(4, arith::ConstantIndexOp::create(builder, block.loc, 0));
  std::pair<Value, DimsAttr> operands[] = {
      {step.getQuery(), step.getQueryOrder()},
      {step.getKey(), step.getKeyOrder()}};
  auto getSequence = [&](unsigned number) {
    auto [operand, order] = operands[number];
    return getMixedSize(builder, block.loc, operand, order, DimKind::Sequence);
  };
  if (extents.empty())
    for (unsigned number : {0, 1})
      extents.push_back(getValueOrCreateConstantIndexOp(builder, block.loc,
                                                        getSequence(number)));
  // Of the operand: no bound is known of the sizes of a transposed view.
  sizes = {rows, getSequence(rowsAreKeys ? 0 : 1)};
}

Value PairTensors::loadInFront(Value operand, function_ref<Value()> load) {
  OpBuilder::InsertionGuard guard(block.builder);
  Operation *point = step;
  auto isKnownBefore = [&](Value value) {
    return !value ||
           !point->getParentRegion()->isAncestor(value.getParentRegion());
  };
  while (isa<BlockRangesOpInterface, scf::ForOp>(point->getParentOp()) &&
         isKnownBefore(dyn_cast<Value>(sizes[0])) && isKnownBefore(operand) &&
         !mayWriteMemory(point->getParentOp(), operand))
    point = point->getParentOp();
  block.builder.setInsertionPoint(point);
  return load();
}

Value PairTensors::loadRows(Value operand, DimsAttr order) {
  return loadInFront(operand, [&] {
    return block.padRows(block.loadMatrix(operand, order), sizes[0]);
  });
}

Value PairTensors::loadRowNumbers(Value numbers, float padding) {
  return loadInFront(numbers, [&] {
    return block.padRows(block.loadRow(numbers), sizes[0], padding);
  });
}

Value PairTensors::multiply(Value rows, Value columns) {
  Value zero = arith::ConstantOp::create(block.builder, block.loc,
                                         block.builder.getF32FloatAttr(0.0f));
  Value init = tensor::EmptyOp::create(block.builder, block.loc, sizes,
                                       block.builder.getF32Type());
  Value zeros =
      linalg::FillOp::create(block.builder, block.loc, zero, init).getResult(0);
  return block.contract(rows, columns, zeros, {{0, 2}, {1, 2}, {0, 1}}, config);
}

Value PairTensors::applyScale(Value scores) {
  Value factors = step.getScale() ? block.splat(step.getScale(), sizes)
                                  : block.splat(getDefaultScale(step), sizes);
  return scaleScores(block.builder, step, scores, factors);
}

ApplyOp PairTensors::apply(Region &region, ValueRange inputs, TypeRange types,
                           ValueRange captures) {
  SmallVector<Value> dynamic;
  if (inputs.empty())
    for (OpFoldResult size : sizes)
      if (auto value = dyn_cast<Value>(size))
        dynamic.push_back(value);
  auto apply = ApplyOp::create(
      block.builder, block.loc, types, inputs, dynamic, offsets, extents,
      captures, rowsAreKeys ? block.builder.getUnitAttr() : UnitAttr());
  IRMapping mapping;
  region.cloneInto(&apply.getBody(), mapping);
  return apply;
}

PairTensors::Scores PairTensors::applyScore(Value scores) {
  if (step.getScore().empty())
    return {scores, Value()};
  SmallVector<Type> types(
      step.getScore().front().getTerminator()->getNumOperands(),
      scores.getType());
  ApplyOp result =
      apply(step.getScore(), scores, types, step.getScoreCaptures());
  return {result.getResult(0),
          types.size() == 2 ? result.getResult(1) : Value()};
}

Value PairTensors::applyFactors(Value values, const Scores &scores) {
  if (!scores.factors)
    return values;
  return arith::MulFOp::create(block.builder, block.loc, values,
                               scores.factors);
}

Value PairTensors::hide(Value values, float hidden) {
  auto type = cast<RankedTensorType>(values.getType());
  Type bits = type.clone(block.builder.getI1Type());
  auto visible = apply(step.getMask(), /*inputs=*/ValueRange(), bits,
                       step.getMaskCaptures());
  return block.select(visible.getResult(0), values, block.splat(hidden, sizes));
}

Value PairTensors::applyMask(Value values, float hidden) {
  if (step.getMask().empty())
    return values;
  if (!step->getParentOfType<BlockRangesOpInterface>())
    return hide(values, hidden);
  Value partial =
      IsPartialOp::create(block.builder, block.loc, block.builder.getI1Type());
  auto branch = scf::IfOp::create(block.builder, block.loc, values.getType(),
                                  partial, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(block.builder);
  block.builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(block.builder, block.loc, hide(values, hidden));
  block.builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(block.builder, block.loc, values);
  return branch.getResult(0);
}
