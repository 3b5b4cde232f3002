//===- ShareScalars.cpp - Costly scalars, once for all roles --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

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
  if (isa<memref::LoadOp>(op))
    return true;
  return isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op) &&
         !getConstantIntValue(op->getOperand(1));
}

/// Whether the operation can stand before the roles, and all that it needs.
static bool collectNeeded(Operation *op, RoleOp role,
                          llvm::SetVector<Operation *> &needed) {
  if (needed.contains(op))
    return true;
  if (op->getNumRegions() ||
      !(isa<memref::LoadOp>(op) || isMemoryEffectFree(op)) ||
      !llvm::all_of(op->getResultTypes(),
                    [](Type type) { return type.isIntOrIndexOrFloat(); }))
    return false;
  llvm::SetVector<Operation *> added(needed);
  for (Value operand : op->getOperands()) {
    if (operand == role.getGroup())
      return false;
    Operation *source = operand.getDefiningOp();
    if (source && source->getParentOp() == role &&
        !collectNeeded(source, role, added))
      return false;
  }
  needed = std::move(added);
  needed.insert(op);
  return true;
}

namespace {
struct ShareScalarsPass
    : public fa::impl::FAGPUShareScalarsPassBase<ShareScalarsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel))
      return;
    for (RoleOp role : kernel.getOps<RoleOp>()) {
      llvm::SetVector<Operation *> needed;
      for (Operation &op : role.getBody().front())
        if (isCostly(&op))
          collectNeeded(&op, role, needed);
      for (Operation *op : needed)
        op->moveBefore(role);
    }
  }
};
} // namespace
