//===- DeviceMemory.cpp - Allocations that are the device's ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the allocations of a host function that kernels alone write and read,
// and makes each a fagpu.workspace.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "HostLoops.h"
#include "MemoryUsers.h"
#include "SumParts.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

/// A loop over tiles, the parts of a single tile, and fills, copies and sums of
/// parts are kernels, or become ones.
static bool isOfKernel(Operation *user) {
  if (user->getParentOfType<scf::ForallOp>() ||
      isa<linalg::FillOp, linalg::CopyOp>(user) ||
      isa<FADialect>(user->getDialect()))
    return true;
  auto sum = dyn_cast<linalg::GenericOp>(user);
  return sum && isSumOfParts(sum);
}

Operation *mlir::fa::findHostUser(Value memory) {
  SmallVector<Operation *> users = findMemoryUsers(memory);
  auto *user = llvm::find_if(users, [](Operation *user) {
    return !isa<memref::DeallocOp, memref::DimOp>(user) && !isOfKernel(user);
  });
  return user == users.end() ? nullptr : *user;
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
    for (Operation *user : findMemoryUsers(allocation))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    allocation.replaceAllUsesWith(workspace.getMemory());
    allocation.erase();
  }
}
