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
  findDemands();
  demand.always = true;
  for (BlockArgument argument : host.getArguments()) {
    unsigned number = argument.getArgNumber();
    taken.insert(this->names[number]);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      scalars.set(argument, this->names[number]);
      continue;
    }
    HostMemRef &memref = memrefs[argument];
    memref.argument = number;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      memref.sizes.push_back(getDim(number, dim));
      memref.strides.push_back(this->names[number] + ".stride." +
                               std::to_string(dim));
    }
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

Operand HostValues::emit(StringRef opcode, ArrayRef<Operand> operands) {
  // Launches of one function compute much alike.
  std::string text;
  llvm::raw_string_ostream(text)
      << opcode << Operand(llvm::json::Array(operands));
  if (auto known = emitted.find(text); known != emitted.end())
    return known->second;
  std::string name;
  do {
    name = "v" + std::to_string(numValues++);
  } while (!taken.insert(name).second);
  values.push_back(
      llvm::json::Object{{"name", name},
                         {"op", opcode},
                         {"operands", llvm::json::Array(operands)}});
  emitted[text] = name;
  return name;
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
  if (!memref || !dim || *dim < 0 || *dim >= int64_t(memref->sizes.size()))
    return op->emitOpError(
        "is not of an argument at a constant dimension, so a "
        "manifest cannot express it");
  scalars.set(dimOp.getResult(), memref->sizes[*dim]);
  return success();
}

void HostValues::addWorkspace(fagpu::WorkspaceOp op) {
  auto type = cast<MemRefType>(op.getMemory().getType());
  int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      bytes *= size;
  Operand all = bytes;
  for (Value size : op.getSizes())
    all = emit("mul", {all, get(size)});
  std::string name = "workspace" + std::to_string(workspaces.size());
  workspaces.push_back(
      llvm::json::Object{{"name", name}, {"bytes", std::move(all)}});
  workspaceNames[op.getMemory()] = std::move(name);
}

//===----------------------------------------------------------------------===//
// What operations require of their operands
//===----------------------------------------------------------------------===//

static unsigned getWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// Whether an operation reads the bits of its operands as unsigned.
static bool isUnsigned(Operation *op) {
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
  if (auto choice = value.getDefiningOp<arith::SelectOp>())
    if (matchPattern(choice.getFalseValue(), m_Constant()))
      return describe(choice.getTrueValue());
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

void HostValues::requireFit(Operation *op, unsigned width) {
  Value source = op->getOperand(0);
  int64_t least = width == 1 ? 0 : llvm::minIntN(width);
  int64_t most = width == 1 ? 1 : llvm::maxIntN(width);
  std::string message =
      describe(source) + " does not fit " + std::to_string(width) + " bits";
  if (!isNonNegative(source))
    addRequirement(emit("less_equal", {least, get(source)}), message);
  addRequirement(emit("less_equal", {get(source), most}), message);
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
  requireFit(op, width);
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

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

LogicalResult HostValues::add(Operation *op) {
  demand = {};
  demand.always = op->getNumResults() == 0;
  for (Value result : op->getResults())
    demand.add(demands.lookup(result));
  if (failed(translate(op)))
    return failure();
  if (op->getNumResults() == 1 && computesNonNegative(op))
    nonNegative[op->getResult(0)].add(demand);
  return success();
}

LogicalResult HostValues::translate(Operation *op) {
  if (Attribute value; matchPattern(op, m_Constant(&value)))
    return addConstant(op, value);
  if (isa<memref::DimOp>(op))
    return addDimOf(op);
  if (isa<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
          memref::TransposeOp, memref::CastOp>(op))
    return addView(op);
  if (isa<fagpu::CounterOp>(op))
    return success();
  if (auto workspace = dyn_cast<fagpu::WorkspaceOp>(op)) {
    addWorkspace(workspace);
    return success();
  }
  if (auto count = dyn_cast<fagpu::MultiprocessorsOp>(op)) {
    scalars.set(count.getCount(), "multiprocessors");
    return success();
  }
  if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    addRequirement(get(assertion.getArg()), assertion.getMsg());
    return success();
  }
  if (failed(requireOperands(op)))
    return failure();
  if (addArithmetic(op))
    return success();
  return op->emitOpError(
      "has no counterpart in a manifest; a host function computes by "
      "constants, "
      "memref.dim, views, +, -, *, divui, floordivsi, ceildiv, remui, min, "
      "max, cmpi, "
      "select, casts and sqrt, and checks by cf.assert");
}
