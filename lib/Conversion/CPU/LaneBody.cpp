//===- LaneBody.cpp - Scalar code on vectors of lanes ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneBody.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fa;

static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

Value LaneBodyBuilder::broadcast(Value value) {
  if (isVector(value))
    return value;
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(width, value.getType()), value);
}

void LaneBodyBuilder::cloneUniform(Operation &op) {
  builder.clone(op, mapping);
}

void LaneBodyBuilder::cloneElementwise(Operation &op) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(broadcast(mapping.lookupOrDefault(operand)));
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(VectorType::get(width, type));
  OperationState state(loc, op.getName(), operands, types, op.getAttrs());
  mapping.map(op.getResults(), builder.create(state)->getResults());
}

/// What an operation and the operations in its regions read from outside.
static SmallVector<Value> getReadValues(Operation &op) {
  llvm::SetVector<Value> values(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), values);
  return values.takeVector();
}

/// One scalar copy for each lane: loads at computed indices, and operations
/// that know no vectors.
void LaneBodyBuilder::cloneByLane(Operation &op) {
  SmallVector<SmallVector<Value>> lanes(op.getNumResults());
  for (int64_t lane = 0; lane < width; ++lane) {
    IRMapping scalars;
    for (Value operand : getReadValues(op)) {
      Value mapped = mapping.lookupOrDefault(operand);
      if (isVector(mapped))
        mapped = vector::ExtractOp::create(builder, loc, mapped, lane);
      scalars.map(operand, mapped);
    }
    Operation *copy = builder.clone(op, scalars);
    for (auto [result, list] : llvm::zip(copy->getResults(), lanes))
      list.push_back(result);
  }
  for (auto [result, list] : llvm::zip(op.getResults(), lanes)) {
    auto type = VectorType::get(width, result.getType());
    mapping.map(
        result,
        vector::FromElementsOp::create(builder, loc, type, list).getResult());
  }
}

SmallVector<Value>
LaneBodyBuilder::inlineBlock(Block &block, ValueRange arguments,
                             function_ref<Value(unsigned loop)> indexOf) {
  mapping.clear();
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      mapping.map(index.getResult(), indexOf(index.getDim()));
      continue;
    }
    bool uniform = llvm::none_of(getReadValues(op), [&](Value operand) {
      return isVector(mapping.lookupOrDefault(operand));
    });
    if (uniform)
      cloneUniform(op);
    else if (OpTrait::hasElementwiseMappableTraits(&op))
      cloneElementwise(op);
    else
      cloneByLane(op);
  }
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}
