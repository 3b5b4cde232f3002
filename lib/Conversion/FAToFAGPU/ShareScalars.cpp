//===- ShareScalars.cpp - Costly scalars, once for all roles --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "RoleScalars.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
    bool isDivision =
        isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
            arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
            nested) &&
        !getConstantIntValue(nested->getOperand(1));
    return isDivision || isa<memref::LoadOp>(nested) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether a value can travel from role to role.
static bool isWord(Value value) {
  return value.getType().isInteger(32) || value.getType().isF32();
}

/// Whether the operation can stand before the roles, and all that it needs.
static bool collectNeeded(Operation *op, RoleOp role,
                          SetVector<Operation *> &needed) {
  if (needed.contains(op))
    return true;
  if (!isRoleScalar(op))
    return false;
  SetVector<Operation *> added(needed);
  for (Value read : getReadValues(op)) {
    if (read == role.getGroup())
      return false;
    Operation *source = read.getDefiningOp();
    if (source && source->getParentOp() == role &&
        !collectNeeded(source, role, added))
      return false;
  }
  needed = std::move(added);
  needed.insert(op);
  return true;
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
      for (Operation &op : role.getBody().front())
        if (llvm::all_of(op.getResults(), isWord) && isCostly(&op))
          collectNeeded(&op, role, needed);
      moveBefore(role, needed);
    }
  }
};
} // namespace
