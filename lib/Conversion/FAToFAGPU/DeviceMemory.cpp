//===- DeviceMemory.cpp - Allocations that are the device's ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the allocations of a host function that kernels write and others read,
// and makes each a fagpu.workspace. Views and transposes lead from the memory
// of an operation to its allocation.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "HostLoops.h"
#include "SumParts.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa;

/// The allocation that a memory is a part of; null for other memory.
static memref::AllocOp findAllocation(Value memory) {
  // To MLIR a transposed view is no view.
  while (auto view = dyn_cast<MemrefValue>(memory)) {
    memory = memref::skipViewLikeOps(view);
    auto transpose = memory.getDefiningOp<memref::TransposeOp>();
    if (!transpose)
      break;
    memory = transpose.getIn();
  }
  return memory.getDefiningOp<memref::AllocOp>();
}

void mlir::fa::allocateOnDevice(func::FuncOp host) {
  llvm::SmallSetVector<memref::AllocOp, 4> allocations;
  auto add = [&](Value memory) {
    if (memref::AllocOp allocation = findAllocation(memory))
      allocations.insert(allocation);
  };
  host.walk([&](PrepareGradientOp op) {
    for (Value memory : op.getDpsInits())
      add(memory);
  });
  host.walk([&](AddPartialOp op) {
    add(op.getOutput());
    add(op.getLse());
  });
  // With the words that are stored beside rows.
  host.walk([&](vector::StoreOp rows) {
    add(rows.getBase());
    if (auto loop = rows->getParentOfType<scf::ForallOp>())
      loop.walk([&](memref::StoreOp store) { add(store.getMemRef()); });
  });
  host.walk([&](linalg::GenericOp op) {
    if (isSumOfParts(op))
      for (Value memory : op->getOperands())
        add(memory);
  });
  host.walk([&](linalg::CopyOp op) {
    for (Value memory : {op.getInputs().front(), op.getOutputs().front()})
      if (memref::AllocOp allocation = findAllocation(memory);
          allocation && !isInHostLoop(allocation))
        allocations.insert(allocation);
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
