//===- HostArithmetic.cpp - Arithmetic that a manifest has ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of a host function as entries of a manifest, whose numbers are
// 64-bit integers or f64: comparisons, casts, flags. What would differ there
// is required not to occur. Read `addArithmetic` first.
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

/// The opcode of two-operand arithmetic that a manifest computes alike; "" for
/// any other operation.
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

/// Of real numbers, by order; with NaN it is false.
bool HostValues::addRealComparison(arith::CmpFOp op) {
  Operand left = operand(op, 0), right = operand(op, 1);
  switch (op.getPredicate()) {
  case arith::CmpFPredicate::OLT:
    scalars.set(op.getResult(), emit("less", {left, right}));
    return true;
  case arith::CmpFPredicate::OLE:
    scalars.set(op.getResult(), emit("less_equal", {left, right}));
    return true;
  case arith::CmpFPredicate::OGT:
    scalars.set(op.getResult(), emit("less", {right, left}));
    return true;
  case arith::CmpFPredicate::OGE:
    scalars.set(op.getResult(), emit("less_equal", {right, left}));
    return true;
  default:
    return false;
  }
}

bool HostValues::addComparison(Operation *op) {
  using Predicate = arith::CmpIPredicate;
  if (auto ofReals = dyn_cast<arith::CmpFOp>(op))
    return addRealComparison(ofReals);
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return false;
  // A flag that is set is -1 where it is signed.
  if (compare.getLhs().getType().isInteger(1) && !isUnsigned(op) &&
      compare.getPredicate() != Predicate::eq &&
      compare.getPredicate() != Predicate::ne)
    return false;
  Operand left = operand(op, 0), right = operand(op, 1);
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

bool HostValues::addCast(Operation *op) {
  bool isSigned = isa<arith::IndexCastOp, arith::ExtSIOp, arith::SIToFPOp>(op);
  bool toFloat = isa<arith::SIToFPOp, arith::UIToFPOp>(op);
  if (!isSigned && !toFloat &&
      !isa<arith::IndexCastUIOp, arith::ExtUIOp, arith::TruncIOp, arith::ExtFOp,
           arith::TruncFOp>(op))
    return false;
  Operand result = operand(op, 0);
  // A manifest holds a flag as 0 or 1; a signed bit is 0 or -1.
  if (isSigned && op->getOperand(0).getType().isInteger(1))
    result = emit("sub", {0, result});
  if (toFloat)
    result = emit("mul", {result, 1.0});
  scalars.set(op->getResult(0), result);
  return true;
}

bool HostValues::addArithmetic(Operation *op) {
  if (!readsScalars(op))
    return false;
  StringRef opcode = getOpcode(op);
  bool isFlag =
      op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  // Of one bit, sums wrap around and a signed 1 is -1.
  if (isFlag)
    opcode = isa<arith::SelectOp>(op) ? "select" : "";
  if (!opcode.empty()) {
    SmallVector<Operand> operands;
    for (Value value : op->getOperands())
      operands.push_back(get(value));
    scalars.set(op->getResult(0), emit(opcode, operands));
    return true;
  }
  // The second one need not exist where the first one decides.
  if (isFlag && isa<arith::AndIOp>(op)) {
    scalars.set(op->getResult(0),
                emit("select", {operand(op, 0), operand(op, 1), 0}));
    return true;
  }
  if (isFlag && isa<arith::OrIOp>(op)) {
    scalars.set(op->getResult(0), emitOr(operand(op, 0), operand(op, 1)));
    return true;
  }
  // Of flags alone; wider numbers have no bits in a manifest.
  if (isFlag && isa<arith::XOrIOp>(op)) {
    Operand same = emit("equal", {operand(op, 0), operand(op, 1)});
    scalars.set(op->getResult(0), emit("equal", {same, 0}));
    return true;
  }
  if (isa<arith::NegFOp>(op)) {
    scalars.set(op->getResult(0), emit("sub", {0.0, operand(op, 0)}));
    return true;
  }
  return addCast(op) || addComparison(op);
}
