//===- DeviceMemory.cpp - Allocations that are the device's ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the allocations of a host function that kernels alone write and read,
// and makes each a fagpu.workspace. Views and transposes lead from an
// allocation to its users.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "HostLoops.h"
#include "SumParts.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

Operation *mlir::fa::findHostUser(Value memory) {
  for (Operation *user : memory.getUsers()) {
    if (user->getParentOfType<scf::ForallOp>() ||
        isa<memref::DeallocOp, memref::DimOp, linalg::FillOp, linalg::CopyOp>(
            user) ||
        isa<FADialect>(user->getDialect()))
      continue;
    if (isa<ViewLikeOpInterface, memref::TransposeOp>(user)) {
      if (Operation *other = findHostUser(user->getResult(0)))
        return other;
      continue;
    }
    auto sum = dyn_cast<linalg::GenericOp>(user);
    if (!sum || !isSumOfParts(sum))
      return user;
  }
  return nullptr;
}

void mlir::fa::allocateOnDevice(func::FuncOp host) {
  SmallVector<memref::AllocOp> allocations;
  host.walk([&](memref::AllocOp allocation) {
    if (!allocation->getParentOfType<scf::ForallOp>() &&
        !isInHostLoop(allocation) && !findHostUser(allocation))
      allocations.push_back(allocation);
  });
  for (memref::AllocOp allocation : allocations) {
    OpBuilder builder(allocation);
    auto workspace = fagpu::WorkspaceOp::create(builder, allocation.getLoc(),
                                                allocation.getType(),
                                                allocation.getDynamicSizes());
    for (Operation *user : llvm::make_early_inc_range(allocation->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    allocation.replaceAllUsesWith(workspace.getMemory());
    allocation.erase();
  }
}
