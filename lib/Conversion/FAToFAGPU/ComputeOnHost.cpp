//===- ComputeOnHost.cpp - Scalars of a launch, computed by the host ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves scalars of a kernel that depend on its arguments alone to the host,
// which passes the results instead. Only what a launcher computes exactly as
// the device would is moved. Read `HostComputer::run`, then `isExact`.
//
//===----------------------------------------------------------------------===//

#include "IndexRanges.h"
#include "IndexWidths.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Support/OperandsFirst.h"
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
  void findRanges();
  bool isExact(Operation *op);
  bool isOfLaunch(Value value);
  Value computeOnHost(Value value);
  void copyToHost(Operation *op);
  Value getOperandOnHost(Operation *op, OpOperand &operand);
  Value pass(Value scalar);
  Value getFirst(Value value);
  Value findFirst(Operation *op);

  func::FuncOp kernel;
  LaunchOp launch;
  OpBuilder builder;
  IndexRanges ranges;
  /// What arguments of the kernel alone give.
  llvm::SetVector<Operation *> ofLaunch;
  IRMapping onHost;
  /// Of scalars that are computed in the same way from the same arguments, the
  /// first one; by hash, those that are the first.
  DenseMap<Value, Value> first;
  DenseMap<llvm::hash_code, SmallVector<Operation *, 1>> distinct;
  /// The arguments that take the place of scalars.
  DenseMap<Value, Value> passed;
};
} // namespace

static bool divides(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

/// Arithmetic that a launcher has.
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

/// What the host passes as an i32 is what it computes there: a launcher refuses
/// a number that 32 bits do not hold.
void HostComputer::findRanges() {
  ranges.setSizes(launch->getParentOfType<func::FuncOp>());
  auto hold = [](int64_t end) {
    return std::clamp(end, llvm::minIntN(32), llvm::maxIntN(32));
  };
  for (auto [argument, value] : llvm::zip_equal(
           kernel.getBody().front().getArguments(), launch.getArguments())) {
    if (!argument.getType().isInteger(32))
      continue;
    Value source = value;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      source = cast.getIn();
    // An index of the caller that is not passed as i64 is the size of a slice.
    bool isSize = isa<BlockArgument>(source) && source.getType().isIndex();
    IntegerRange range =
        isSize ? IntegerRange{0, IndexWidths::shortLimit} : ranges.get(source);
    ranges.set(argument, {hold(range.least), hold(range.greatest)});
  }
}

/// A launcher computes exactly, on numbers with a sign. That is what a kernel
/// does where nothing leaves 32 bits, as products that are marked so, and where
/// nothing below 0 is read as unsigned.
bool HostComputer::isExact(Operation *op) {
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    auto flags = cast<arith::ArithIntegerOverflowFlagsInterface>(op);
    return flags.hasNoSignedWrap() || !ranges.mayWrap(op);
  }
  bool isUnsigned = divides(op) || isa<arith::MinUIOp, arith::MaxUIOp>(op);
  return !isUnsigned || llvm::all_of(op->getOperands(), [&](Value operand) {
    return ranges.get(operand).isNonNegative();
  });
}

bool HostComputer::isOfLaunch(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &kernel.getBody().front();
  return matchPattern(value, m_Constant()) ||
         ofLaunch.contains(value.getDefiningOp());
}

/// A launch without tiles reads no quotient, but the host computes it: there a
/// divisor of 0 is taken for 1.
Value HostComputer::getOperandOnHost(Operation *op, OpOperand &operand) {
  Value value = onHost.lookup(operand.get());
  if (!divides(op) || operand.getOperandNumber() != 1)
    return value;
  Value one =
      arith::ConstantIntOp::create(builder, op->getLoc(), 1, /*width=*/32);
  return builder.createOrFold<arith::MaxUIOp>(op->getLoc(), value, one);
}

void HostComputer::copyToHost(Operation *op) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(getOperandOnHost(op, operand));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  // What is moved does not wrap, which a launcher need not check.
  if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(copy))
    copy->setAttr(flags.getIntegerOverflowAttrName(),
                  arith::IntegerOverflowFlagsAttr::get(
                      copy->getContext(), arith::IntegerOverflowFlags::nsw));
  onHost.map(op->getResult(0), copy->getResult(0));
}

Value HostComputer::computeOnHost(Value value) {
  visitOperandsFirst(
      value, [&](Value next) { return onHost.contains(next); },
      [&](Value next) { copyToHost(next.getDefiningOp()); });
  return onHost.lookup(value);
}

Value HostComputer::findFirst(Operation *op) {
  auto getKnown = [&](Value operand) {
    return operand.getDefiningOp() ? first.lookup(operand) : operand;
  };
  auto &alike = distinct[OperationEquivalence::computeHash(
      op, [&](Value operand) { return hash_value(getKnown(operand)); },
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations)];
  auto areSame = [&](Value a, Value b) {
    return success(getKnown(a) == getKnown(b));
  };
  for (Operation *other : alike)
    if (OperationEquivalence::isEquivalentTo(
            op, other, areSame, /*markEquivalent=*/nullptr,
            OperationEquivalence::IgnoreLocations))
      return other->getResult(0);
  alike.push_back(op);
  return op->getResult(0);
}

/// Operands come before what they give, so that each is compared once.
Value HostComputer::getFirst(Value value) {
  visitOperandsFirst(
      value,
      [&](Value next) { return !next.getDefiningOp() || first.contains(next); },
      [&](Value next) { first[next] = findFirst(next.getDefiningOp()); });
  return value.getDefiningOp() ? first.lookup(value) : value;
}

/// The argument of the kernel that takes the place of a scalar. What roles
/// compute in the same way is one argument, so that their loops are seen to be
/// the same.
Value HostComputer::pass(Value scalar) {
  Value &argument = passed[getFirst(scalar)];
  if (argument)
    return argument;
  Value value = computeOnHost(scalar);
  launch.getArgumentsMutable().append(value);
  // With the attributes that other arguments may have.
  bool isInserted =
      succeeded(kernel.insertArgument(kernel.getNumArguments(), value.getType(),
                                      /*argAttrs=*/nullptr, scalar.getLoc()));
  assert(isInserted && "a function takes any argument");
  (void)isInserted;
  argument = kernel.getArguments().back();
  return argument;
}

void HostComputer::run() {
  Block &body = kernel.getBody().front();
  findRanges();
  kernel.walk([&](Operation *op) {
    if (isHostArithmetic(op) &&
        llvm::all_of(op->getOperands(),
                     [&](Value operand) { return isOfLaunch(operand); }) &&
        isExact(op))
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
