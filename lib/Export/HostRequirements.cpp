//===- HostRequirements.cpp - What operations require of operands ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

static unsigned getWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

bool HostValues::isUnsigned(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() >= arith::CmpIPredicate::ult;
  return isa<arith::MinUIOp, arith::MaxUIOp, arith::DivUIOp, arith::CeilDivUIOp,
             arith::RemUIOp, arith::ExtUIOp, arith::IndexCastUIOp,
             arith::UIToFPOp>(op);
}

bool HostValues::readsScalars(Operation *op) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return scalars.entries.count(operand.getAsOpaquePointer());
  });
}

bool HostValues::isNonNegative(Value value) const {
  // A flag is 0 or 1.
  if (value.getType().isInteger(1))
    return true;
  auto known = nonNegative.find(value);
  return known != nonNegative.end() && known->second.covers(demand);
}

bool HostValues::computesNonNegative(Operation *op) const {
  if (APInt constant; matchPattern(op, m_ConstantInt(&constant)))
    return !constant.isNegative();
  // What unsigned operations read is required to be non-negative.
  if (isUnsigned(op) || isa<memref::DimOp, fagpu::MultiprocessorsOp>(op))
    return true;
  auto isKnown = [&](Value operand) { return isNonNegative(operand); };
  if (isa<arith::MaxSIOp>(op))
    return llvm::any_of(op->getOperands(), isKnown);
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op) &&
      op->getOperand(0).getType().isInteger(1))
    return false;
  return isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::SelectOp, arith::ExtSIOp,
             arith::TruncIOp, arith::IndexCastOp>(op) &&
         llvm::all_of(op->getOperands(), isKnown);
}

std::string HostValues::describe(Value value) const {
  // A divisor that is a constant where it is not used, for example.
  auto choice = value.getDefiningOp<arith::SelectOp>();
  for (; choice && matchPattern(choice.getFalseValue(), m_Constant());
       choice = value.getDefiningOp<arith::SelectOp>())
    value = choice.getTrueValue();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "'" + names[argument.getArgNumber()] + "'";
  return "the result of '" +
         value.getDefiningOp()->getName().getStringRef().str() + "'";
}

LogicalResult HostValues::requireNonNegative(Operation *op, Value operand) {
  if (isNonNegative(operand))
    return success();
  if (APInt constant; matchPattern(operand, m_ConstantInt(&constant)))
    return op->emitOpError() << "reads the constant " << constant.getSExtValue()
                             << " as unsigned, but a manifest computes on "
                                "signed numbers; expected at least 0";
  addRequirement(emit("less_equal", {0, get(operand)}),
                 describe(operand) + " is negative, but '" +
                     op->getName().getStringRef() + "' reads it as unsigned");
  nonNegative[operand].add(demand);
  return success();
}

void HostValues::requireFit(Value value, unsigned width) {
  int64_t least = width == 1 ? 0 : llvm::minIntN(width);
  int64_t most = width == 1 ? 1 : llvm::maxIntN(width);
  std::string message =
      describe(value) + " does not fit " + std::to_string(width) + " bits";
  if (!isNonNegative(value))
    addRequirement(emit("less_equal", {least, get(value)}), message);
  addRequirement(emit("less_equal", {get(value), most}), message);
}

void HostValues::requireNoWrap(Operation *op) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return;
  unsigned width = getWidth(op->getResult(0).getType());
  auto flags = cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  // The launcher checks that a number fits its parameter.
  if (width < 64 && !flags.hasNoSignedWrap() &&
      !llvm::all_of(op->getUsers(), llvm::IsaPred<fagpu::LaunchOp>))
    requireFit(op->getResult(0), width);
}

LogicalResult HostValues::requireOperands(Operation *op) {
  if (!readsScalars(op))
    return success();
  if (isUnsigned(op))
    for (Value operand : op->getOperands())
      if (failed(requireNonNegative(op, operand)))
        return failure();
  if (!isa<arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return success();
  unsigned width = getWidth(op->getResult(0).getType());
  if (width >= getWidth(op->getOperand(0).getType()))
    return success();
  // The launcher checks that a number fits its parameter.
  if (width > 1 && llvm::all_of(op->getUsers(), llvm::IsaPred<fagpu::LaunchOp>))
    return success();
  requireFit(op->getOperand(0), width);
  return success();
}
