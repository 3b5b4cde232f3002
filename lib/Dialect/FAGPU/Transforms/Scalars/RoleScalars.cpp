//===- RoleScalars.cpp - Scalars that roles compute -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

bool mlir::fagpu::isRoleScalar(Operation *op) {
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

SetVector<Value> mlir::fagpu::getReadValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

void mlir::fagpu::moveWithOperands(Operation *op, Operation *position) {
  auto isBefore = [&](Operation *source) {
    return !source || source->getBlock() != position->getBlock() ||
           source->isBeforeInBlock(position);
  };
  if (isBefore(op))
    return;
  for (Value read : getReadValues(op))
    fa::visitOperandsFirst(
        read, [&](Value next) { return isBefore(next.getDefiningOp()); },
        [&](Value next) { next.getDefiningOp()->moveBefore(position); },
        getReadValues);
  op->moveBefore(position);
}
