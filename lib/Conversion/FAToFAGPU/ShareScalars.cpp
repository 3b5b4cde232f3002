//===- ShareScalars.cpp - Costly scalars, once for all roles --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Support/IntegerDivision.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSHARESCALARSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// A load has latency, a division by a value of run time takes some twenty
/// instructions.
static bool isCostly(Operation *op) {
  WalkResult result = op->walk([](Operation *nested) -> WalkResult {
    bool isLong =
        isDivision(nested) && !getConstantIntValue(nested->getOperand(1));
    return isLong || isa<memref::LoadOp>(nested) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether a value can travel from role to role.
static bool isWord(Value value) {
  return value.getType().isInteger(32) || value.getType().isF32();
}

/// The operations of a role that can stand before the roles, as all that they
/// need can.
static DenseSet<Operation *> collectMovable(RoleOp role) {
  DenseSet<Operation *> movable;
  auto staysInRole = [&](Value read) {
    Operation *source = read.getDefiningOp();
    return read == role.getGroup() ||
           (source && source->getParentOp() == role &&
            !movable.contains(source));
  };
  for (Operation &op : role.getBody().front())
    if (isRoleScalar(&op) && llvm::none_of(getReadValues(&op), staysInRole))
      movable.insert(&op);
  return movable;
}

/// The operation, which is movable, and what it needs of the role.
static void collectNeeded(Operation *op, RoleOp role,
                          SetVector<Operation *> &needed) {
  auto isKnown = [&](Value next) {
    Operation *source = next.getDefiningOp();
    return !source || source->getParentOp() != role || needed.contains(source);
  };
  visitOperandsFirst(
      op->getResult(0), isKnown,
      [&](Value next) { needed.insert(next.getDefiningOp()); }, getReadValues);
}

/// Moves operations before the role; what is no word, and that the role reads
/// too, stays there as a copy.
static void moveBefore(RoleOp role, const SetVector<Operation *> &needed) {
  for (Operation *op : needed)
    op->moveBefore(role);
  OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
  for (Operation *op : needed) {
    auto isInRole = [&](OpOperand &use) {
      return role->isProperAncestor(use.getOwner());
    };
    if (llvm::all_of(op->getResults(), isWord) ||
        llvm::none_of(op->getUses(), isInRole))
      continue;
    Operation *copy = builder.clone(*op);
    op->replaceUsesWithIf(copy->getResults(), isInRole);
  }
}

namespace {
struct ShareScalarsPass
    : public fa::impl::FAGPUShareScalarsPassBase<ShareScalarsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel))
      return;
    for (RoleOp role : kernel.getOps<RoleOp>()) {
      SetVector<Operation *> needed;
      DenseSet<Operation *> movable = collectMovable(role);
      for (Operation &op : role.getBody().front())
        if (movable.contains(&op) && op.getNumResults() &&
            llvm::all_of(op.getResults(), isWord) && isCostly(&op))
          collectNeeded(&op, role, needed);
      moveBefore(role, needed);
    }
  }
};
} // namespace
