//===- PartOfValue.cpp - A part of a block value --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartOfValue.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Whether a part of the result is computed from parts of the operands.
static bool isOfParts(Operation *op) {
  return isa<IotaOp, tensor::SplatOp, GatherOp>(op) ||
         OpTrait::hasElementwiseMappableTraits(op);
}

Value PartOfValue::get(Value value) {
  auto isKnown = [&](Value next) {
    return !isa<RankedTensorType>(next.getType()) || known.contains(next);
  };
  visitOperandsFirst(
      value, isKnown, [&](Value next) { known.insert({next, make(next)}); },
      [](Operation *op) {
        return isOfParts(op) ? op->getOperands() : ValueRange();
      });
  return isa<RankedTensorType>(value.getType()) ? known.lookup(value) : value;
}

/// A constant of one element for all.
static Value makeConstant(OpBuilder &builder, arith::ConstantOp op,
                          RankedTensorType type) {
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return {};
  return arith::ConstantOp::create(
      builder, op.getLoc(),
      DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
}

Value PartOfValue::make(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (!op || type.getRank() != 2)
    return {};
  OpBuilder builder(op);
  auto partType = RankedTensorType::get(shape, type.getElementType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return makeConstant(builder, constant, partType);
  if (!isOfParts(op))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value part = get(operand);
    if (!part)
      return {};
    mapping.map(operand, part);
  }
  Operation *copy = builder.clone(*op, mapping);
  Value part = copy->getResult(0);
  part.setType(partType);
  auto iota = dyn_cast<IotaOp>(op);
  if (!iota)
    return part;
  Value offset = tensor::SplatOp::create(builder, op->getLoc(),
                                         offsets[iota.getDim()], partType);
  return arith::AddIOp::create(builder, op->getLoc(), part, offset);
}
