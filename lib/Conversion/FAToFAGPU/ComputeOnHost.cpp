//===- ComputeOnHost.cpp - Scalars of a launch, computed by the host ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUCOMPUTEONHOSTPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// Moves scalars of one kernel to the function that launches it.
class HostComputer {
public:
  HostComputer(func::FuncOp kernel, LaunchOp launch)
      : kernel(kernel), launch(launch), builder(launch) {}
  void run();

private:
  bool isSize(BlockArgument argument);
  bool isOfLaunch(Value value);
  Value computeOnHost(Value value);
  Value computeOperand(Operation *op, OpOperand &operand);
  Value pass(Value scalar);

  func::FuncOp kernel;
  LaunchOp launch;
  OpBuilder builder;
  /// What arguments of the kernel alone give.
  llvm::SetVector<Operation *> ofLaunch;
  IRMapping onHost;
  /// Scalars of the kernel and the arguments that take their place.
  SmallVector<std::pair<Value, Value>> passed;
};
} // namespace

static bool divides(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

/// Arithmetic that a launcher does as the kernel does.
static bool isHostArithmetic(Operation *op) {
  APInt divisor;
  if (isa<arith::CeilDivSIOp>(op))
    return op->getResult(0).getType().isInteger(32) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
           divisor.isStrictlyPositive();
  return op->getNumResults() == 1 && op->getResult(0).getType().isInteger(32) &&
         (divides(op) ||
          isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
              arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(op));
}

/// Whether the host has a scalar by sizes and constants alone, and not from an
/// integer that the caller gives.
static bool isSizeOnHost(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return !isa<IntegerType>(value.getType());
  return llvm::all_of(op->getOperands(), isSizeOnHost);
}

/// A launcher computes sizes without wrapping around, and refuses those beyond
/// 32 bits. Arithmetic of an integer of the caller wraps around in the kernel.
bool HostComputer::isSize(BlockArgument argument) {
  return argument.getOwner() == &kernel.getBody().front() &&
         isSizeOnHost(launch.getArguments()[argument.getArgNumber()]);
}

bool HostComputer::isOfLaunch(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isSize(argument);
  return matchPattern(value, m_Constant()) ||
         ofLaunch.contains(value.getDefiningOp());
}

/// A launch without tiles reads no quotient, but the host computes it: there a
/// divisor of 0 is taken for 1.
Value HostComputer::computeOperand(Operation *op, OpOperand &operand) {
  Value value = computeOnHost(operand.get());
  if (!divides(op) || operand.getOperandNumber() != 1)
    return value;
  Value one =
      arith::ConstantIntOp::create(builder, op->getLoc(), 1, /*width=*/32);
  return builder.createOrFold<arith::MaxUIOp>(op->getLoc(), value, one);
}

Value HostComputer::computeOnHost(Value value) {
  if (Value known = onHost.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands;
  if (ofLaunch.contains(op))
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(computeOperand(op, operand));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  onHost.map(value, copy->getResult(0));
  return copy->getResult(0);
}

/// Whether two scalars are computed in the same way from the same arguments.
static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
  return opA && opB &&
         OperationEquivalence::isEquivalentTo(
             opA, opB, [](Value x, Value y) { return success(isSame(x, y)); },
             /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

/// The argument of the kernel that takes the place of a scalar. What roles
/// compute in the same way is one argument, so that their loops are seen to be
/// the same.
Value HostComputer::pass(Value scalar) {
  for (auto [known, argument] : passed)
    if (isSame(known, scalar))
      return argument;
  Value value = computeOnHost(scalar);
  launch.getArgumentsMutable().append(value);
  Value argument =
      kernel.getBody().front().addArgument(value.getType(), scalar.getLoc());
  passed.push_back({scalar, argument});
  return argument;
}

void HostComputer::run() {
  Block &body = kernel.getBody().front();
  kernel.walk([&](Operation *op) {
    if (isHostArithmetic(op) &&
        llvm::all_of(op->getOperands(),
                     [&](Value operand) { return isOfLaunch(operand); }))
      ofLaunch.insert(op);
  });
  for (auto [argument, value] :
       llvm::zip_equal(body.getArguments(), launch.getArguments()))
    onHost.map(argument, value);
  for (Operation *op : ofLaunch) {
    if (llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return ofLaunch.contains(user); }))
      continue;
    op->getResult(0).replaceUsesWithIf(
        pass(op->getResult(0)),
        [&](OpOperand &use) { return !ofLaunch.contains(use.getOwner()); });
  }
  for (Operation *op : llvm::reverse(ofLaunch))
    op->erase();
  FunctionType type = kernel.getFunctionType();
  kernel.setFunctionType(builder.getFunctionType(
      llvm::to_vector(body.getArgumentTypes()), type.getResults()));
}

namespace {
struct ComputeOnHostPass
    : public fa::impl::FAGPUComputeOnHostPassBase<ComputeOnHostPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<Operation *, SmallVector<LaunchOp, 1>> launches;
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel =
              symbols.lookup<func::FuncOp>(launch.getKernelAttr().getAttr()))
        launches[kernel].push_back(launch);
    });
    for (auto &[kernel, launchesOf] : launches)
      if (launchesOf.size() == 1)
        HostComputer(cast<func::FuncOp>(kernel), launchesOf.front()).run();
  }
};
} // namespace
