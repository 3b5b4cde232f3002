//===- Uniformity.cpp - Rules on what all threads of a group share --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that branches, trip counts, banks and the like are the same in all
// threads of a group. `VaryingScalars` follows what may differ by thread,
// data and control, and remembers its origin. Read `checkRole` first.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {
/// Finds the scalars of a role that may differ between the threads of a group,
/// each with the operation where the difference comes from.
class VaryingScalars {
public:
  explicit VaryingScalars(RoleOp role) {
    do {
      changed = false;
      role.walk([&](Operation *op) { visit(op); });
    } while (changed);
  }

  Operation *getSource(Value value) const { return sources.lookup(value); }

private:
  static bool isScalar(Value value) {
    return value.getType().isIntOrIndexOrFloat();
  }

  void mark(Value value, Operation *source) {
    if (source && isScalar(value) && sources.insert({value, source}).second)
      changed = true;
  }

  void flow(ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      mark(target, getSource(source));
  }

  /// How often a loop runs, or which branch, decides about all of its values.
  void decide(Value decision, ValueRange values) {
    for (Value value : values)
      mark(value, getSource(decision));
  }

  /// Whether the results depend on nothing but the operands and on what all
  /// threads of a block share.
  static bool isShared(Operation *op) {
    if (isa<gpu::BlockIdOp, gpu::GridDimOp, gpu::BlockDimOp>(op))
      return true;
    StringRef dialect = op->getName().getDialectNamespace();
    return llvm::is_contained(
        {"arith", "math", "memref", "tensor", "func", "fagpu"}, dialect);
  }

  void visit(Operation *op) {
    if (op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>())
      return visitControl(op);
    Operation *source = isShared(op) ? nullptr : op;
    for (Value operand : op->getOperands()) {
      if (getBlockLayout(operand.getType()) && !isa<AnyOp>(op))
        source = op; // A scalar taken out of a block value.
      if (Operation *other = getSource(operand))
        source = other;
    }
    for (Value result : op->getResults())
      mark(result, source);
  }

  void visitControl(Operation *op) {
    if (auto loop = dyn_cast<ForOp>(op)) {
      visitLoop(loop, loop.getInits(), loop.getIterArguments(),
                loop.getBody().front().getTerminator()->getOperands());
      decide(loop.getStart(), loop.getIndex());
      for (Value bound : loop.getBounds())
        decide(bound, loop.getResults());
    } else if (auto loop = dyn_cast<RepeatOp>(op)) {
      ValueRange yielded =
          loop.getBody().front().getTerminator()->getOperands();
      visitLoop(loop, loop.getInits(), loop.getBody().getArguments(),
                yielded.drop_front());
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      visitLoop(loop, loop.getInitArgs(), loop.getRegionIterArgs(),
                loop.getYieldedValues());
      decide(loop.getLowerBound(), loop.getInductionVar());
      decide(loop.getUpperBound(), loop.getResults());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      flow(loop.getInits(), loop.getBeforeArguments());
      flow(loop.getYieldOp().getResults(), loop.getBeforeArguments());
      flow(loop.getConditionOp().getArgs(), loop.getAfterArguments());
      flow(loop.getConditionOp().getArgs(), loop.getResults());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      decide(branch.getCondition(), branch.getResults());
      flow(branch.thenYield().getOperands(), branch.getResults());
      if (branch.elseBlock())
        flow(branch.elseYield().getOperands(), branch.getResults());
    }
  }

  void visitLoop(Operation *loop, ValueRange inits, ValueRange arguments,
                 ValueRange yielded) {
    flow(inits, arguments);
    flow(yielded, arguments);
    flow(arguments, loop->getResults());
  }

  DenseMap<Value, Operation *> sources;
  bool changed;
};
} // namespace

/// The operands that are used as one number by all threads of a group, or say
/// which operations these execute.
static ValueRange getSharedOperands(Operation *op) {
  if (auto loop = dyn_cast<ForOp>(op))
    return loop->getOperands().take_front(1 + loop.getBounds().size());
  if (isa<YieldOp>(op))
    return op->getOperands().take_front(isa<RepeatOp>(op->getParentOp()));
  if (isa<scf::ForOp>(op))
    return op->getOperands().take_front(3);
  if (isa<scf::IfOp, scf::ConditionOp>(op))
    return op->getOperands().take_front(1);
  if (isa<tensor::SplatOp>(op) ||
      (isa<FAGPUDialect>(op->getDialect()) && !isa<RepeatOp>(op)))
    return op->getOperands();
  return {};
}

static LogicalResult checkRole(RoleOp role) {
  VaryingScalars varying(role);
  WalkResult result = role.walk([&](Operation *op) {
    for (auto [number, operand] : llvm::enumerate(getSharedOperands(op))) {
      Operation *source = varying.getSource(operand);
      if (!source)
        continue;
      InFlightDiagnostic diagnostic =
          op->emitOpError()
          << "has operand " << number
          << ", which may differ between the threads of a group in @"
          << role.getSymName()
          << "; expected a value of kernel arguments, block and group numbers, "
             "received scalars, loop indices and loads of scalars";
      diagnostic.attachNote(source->getLoc()) << "it comes from here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult mlir::fagpu::checkUniformity(func::FuncOp kernel) {
  for (RoleOp role : kernel.getOps<RoleOp>())
    // A role of one thread differs from nobody.
    if (!role.getElect() && failed(checkRole(role)))
      return failure();
  return success();
}
