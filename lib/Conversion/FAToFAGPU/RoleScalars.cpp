//===- RoleScalars.cpp - Scalars that roles compute -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleScalars.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

bool mlir::fa::isRoleScalar(Operation *op) {
  WalkResult result = op->walk([](Operation *nested) -> WalkResult {
    if (isa<memref::GetGlobalOp>(nested))
      return WalkResult::advance();
    bool hasScalars = llvm::all_of(nested->getResultTypes(), [](Type type) {
      return type.isIntOrIndexOrFloat();
    });
    bool isPure = nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                  isa<memref::LoadOp>(nested) || isMemoryEffectFree(nested);
    return hasScalars && isPure ? WalkResult::advance()
                                : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

SetVector<Value> mlir::fa::getReadValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

void mlir::fa::moveWithOperands(Operation *op, Operation *position) {
  if (op->getBlock() != position->getBlock() || op->isBeforeInBlock(position))
    return;
  for (Value read : getReadValues(op))
    if (Operation *source = read.getDefiningOp())
      moveWithOperands(source, position);
  op->moveBefore(position);
}
