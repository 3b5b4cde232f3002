//===- HostValues.cpp - Arithmetic of host functions as values ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

HostValues::HostValues(func::FuncOp host, ArrayRef<std::string> names)
    : host(host), names(names) {
  for (BlockArgument argument : host.getArguments()) {
    unsigned number = argument.getArgNumber();
    taken.insert(this->names[number]);
    if (isa<MemRefType>(argument.getType()))
      memrefs[argument] = {number};
    else
      scalars.set(argument, this->names[number]);
  }
}

const HostMemRef *HostValues::getMemRef(Value memref) const {
  auto found = memrefs.find(memref);
  return found == memrefs.end() ? nullptr : &found->second;
}

Operand HostValues::getDim(unsigned argument, unsigned dim) {
  auto type = cast<MemRefType>(host.getArgument(argument).getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  return names[argument] + ".dim." + std::to_string(dim);
}

Operand HostValues::getStride(unsigned argument, unsigned dim) const {
  return names[argument] + ".stride." + std::to_string(dim);
}

Operand HostValues::emit(StringRef opcode, ArrayRef<Operand> operands) {
  std::string name;
  do {
    name = "v" + std::to_string(numValues++);
  } while (!taken.insert(name).second);
  values.push_back(
      llvm::json::Object{{"name", name},
                         {"op", opcode},
                         {"operands", llvm::json::Array(operands)}});
  return name;
}

void HostValues::addRequirement(Operand condition, const Twine &message) {
  requirements.push_back(llvm::json::Object{{"condition", std::move(condition)},
                                            {"message", message.str()}});
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult HostValues::addConstant(Operation *op, Attribute value) {
  Value result = op->getResult(0);
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    bool isFlag = integer.getType().isInteger(1);
    scalars.set(result, isFlag ? int64_t(integer.getValue().getZExtValue())
                               : integer.getValue().getSExtValue());
    return success();
  }
  if (auto real = dyn_cast<FloatAttr>(value)) {
    if (!real.getValue().isFinite())
      return op->emitOpError()
             << "is " << value << ", but a manifest holds finite numbers only";
    scalars.set(result, real.getValueAsDouble());
    return success();
  }
  return op->emitOpError() << "is " << value
                           << ", but a manifest computes on numbers only";
}

LogicalResult HostValues::addDimOf(Operation *op) {
  auto dimOp = cast<memref::DimOp>(op);
  const HostMemRef *memref = getMemRef(dimOp.getSource());
  std::optional<int64_t> dim = dimOp.getConstantIndex();
  if (!memref || memref->isFlat || !dim)
    return op->emitOpError(
        "is not of an argument at a constant dimension, so a "
        "manifest cannot express it");
  scalars.set(dimOp.getResult(), getDim(memref->argument, *dim));
  return success();
}

LogicalResult HostValues::addView(Operation *op) {
  const HostMemRef *source = getMemRef(op->getOperand(0));
  auto type = cast<MemRefType>(op->getOperand(0).getType());
  HostMemRef view;
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    if (!source || !type.getLayout().isIdentity() ||
        collapse.getResultType().getRank() != 1)
      return op->emitOpError(
          "makes a view that a manifest cannot express, "
          "expected all dims of a contiguous argument as one");
    view = {source->argument, /*isFlat=*/true};
  } else if (source) {
    view = *source;
  } else {
    return op->emitOpError(
        "is not of an argument, so a manifest cannot express "
        "it");
  }
  memrefs[op->getResult(0)] = view;
  return success();
}

/// The opcode of two-operand arithmetic that a manifest computes alike; "" for
/// any other operation. Dims are never negative, so unsigned operations are
/// those on integers.
static StringRef getOpcode(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddIOp, arith::AddFOp>([](auto) { return "add"; })
      .Case<arith::SubIOp, arith::SubFOp>([](auto) { return "sub"; })
      .Case<arith::MulIOp, arith::MulFOp>([](auto) { return "mul"; })
      .Case<arith::DivFOp>([](auto) { return "div"; })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>(
          [](auto) { return "floordiv"; })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [](auto) { return "ceildiv"; })
      .Case<arith::RemUIOp>([](auto) { return "rem"; })
      .Case<arith::MinSIOp, arith::MinUIOp, arith::MinNumFOp>(
          [](auto) { return "min"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp, arith::MaxNumFOp>(
          [](auto) { return "max"; })
      .Case<math::SqrtOp>([](auto) { return "sqrt"; })
      .Case<arith::SelectOp>([](auto) { return "select"; })
      .Default([](Operation *) { return ""; });
}

bool HostValues::addComparison(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return false;
  Operand left = operand(op, 0), right = operand(op, 1);
  using Predicate = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case Predicate::eq:
    scalars.set(compare.getResult(), emit("equal", {left, right}));
    return true;
  case Predicate::ne:
    scalars.set(compare.getResult(),
                emit("equal", {emit("equal", {left, right}), 0}));
    return true;
  case Predicate::slt:
  case Predicate::ult:
    scalars.set(compare.getResult(), emit("less", {left, right}));
    return true;
  case Predicate::sle:
  case Predicate::ule:
    scalars.set(compare.getResult(), emit("less_equal", {left, right}));
    return true;
  case Predicate::sgt:
  case Predicate::ugt:
    scalars.set(compare.getResult(), emit("less", {right, left}));
    return true;
  case Predicate::sge:
  case Predicate::uge:
    scalars.set(compare.getResult(), emit("less_equal", {right, left}));
    return true;
  }
  llvm_unreachable("every predicate is handled");
}

bool HostValues::addArithmetic(Operation *op) {
  // A select of memrefs, for example, is no arithmetic.
  if (!llvm::all_of(op->getOperands(), [&](Value operand) {
        return scalars.entries.count(operand.getAsOpaquePointer());
      }))
    return false;
  StringRef opcode = getOpcode(op);
  bool isFlag =
      op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  if (isFlag && isa<arith::AndIOp>(op))
    opcode = "mul";
  if (isFlag && isa<arith::OrIOp>(op))
    opcode = "max";
  if (!opcode.empty()) {
    SmallVector<Operand> operands;
    for (Value value : op->getOperands())
      operands.push_back(get(value));
    scalars.set(op->getResult(0), emit(opcode, operands));
    return true;
  }
  // The launcher checks that a number fits its parameter.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp, arith::ExtFOp, arith::TruncFOp>(
          op)) {
    scalars.set(op->getResult(0), operand(op, 0));
    return true;
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    scalars.set(op->getResult(0), emit("mul", {operand(op, 0), 1.0}));
    return true;
  }
  if (isa<arith::NegFOp>(op)) {
    scalars.set(op->getResult(0), emit("sub", {0.0, operand(op, 0)}));
    return true;
  }
  return addComparison(op);
}

LogicalResult HostValues::add(Operation *op) {
  if (Attribute value; matchPattern(op, m_Constant(&value)))
    return addConstant(op, value);
  if (isa<memref::DimOp>(op))
    return addDimOf(op);
  if (isa<memref::CollapseShapeOp, memref::CastOp>(op))
    return addView(op);
  if (isa<fagpu::CounterOp>(op))
    return success();
  if (auto count = dyn_cast<fagpu::MultiprocessorsOp>(op)) {
    scalars.set(count.getCount(), "multiprocessors");
    return success();
  }
  if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    addRequirement(get(assertion.getArg()), assertion.getMsg());
    return success();
  }
  if (addArithmetic(op))
    return success();
  return op->emitOpError(
      "has no counterpart in a manifest; a host function computes by "
      "constants, "
      "memref.dim, +, -, *, divui, floordivsi, ceildiv, remui, min, max, cmpi, "
      "select, casts and sqrt, and checks by cf.assert");
}
