//===- HostValues.cpp - Arithmetic of host functions as values ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a host function, operation by operation, to the values of a
// manifest, which a launcher computes at each launch. Equal values are
// shared. Read `translate`; HostArithmetic.cpp and HostViews.cpp have the two
// large groups of operations.
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

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
  bool isKnown = found != memrefs.end() && found->second.workspace.empty();
  return isKnown ? &found->second : nullptr;
}

const HostMemRef *HostValues::getWorkspaceView(Value memref) const {
  auto found = memrefs.find(memref);
  bool isKnown = found != memrefs.end() && !found->second.workspace.empty();
  return isKnown ? &found->second : nullptr;
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
  if (!memref)
    memref = getWorkspaceView(dimOp.getSource());
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

LogicalResult HostValues::add(Operation *op) {
  demand = {};
  demand.always = op->getNumResults() == 0;
  for (Value result : op->getResults())
    demand.add(demands.lookup(result));
  if (failed(translate(op)))
    return failure();
  if (op->getNumResults() == 1 && computesNonNegative(op))
    nonNegative[op->getResult(0)].add(demand);
  requireNoWrap(op);
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
      "constants, memref.dim, views, +, -, *, divui, floordivsi, ceildiv, "
      "remui, min, max, cmpi, select, casts and sqrt, and checks by cf.assert");
}
