//===- StagingChannels.cpp - Shared memory that stores leave through ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagingChannels.h"
#include "ChannelTypes.h"
#include "KernelConfig.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

bool mlir::fa::mayBeStaged(StoreOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  bool isAdded = store.getAdd() && store.getFragments();
  return type.getRank() == 2 && !store.getVia() &&
         store->getParentOfType<RoleOp>() &&
         (isAdded || isPackedElement(type.getElementType()));
}

ChannelType mlir::fa::getStagingType(StoreOp store) {
  if (store.getAlignment() < 16)
    return {};
  auto type = cast<RankedTensorType>(store.getValue().getType());
  return makeChannelType(type.clone(store.getTile()), /*depth=*/1);
}

ChannelOp mlir::fa::findFreeMemory(StoreOp store, ChannelType tile) {
  auto role = store->getParentOfType<RoleOp>();
  auto kernel = store->getParentOfType<func::FuncOp>();
  if (isPersistent(kernel) || store->getParentOfType<ForOp>())
    return {};
  ChannelOp free;
  for (ChannelOp channel : kernel.getOps<ChannelOp>()) {
    ChannelType type = channel.getType();
    bool isSame = type.getShape() == tile.getShape() &&
                  type.getElementType() == tile.getElementType() &&
                  type.getDepth() == 1 &&
                  channel.getBanks() == role.getGroups();
    if (!isSame)
      continue;
    if (channel.getEngine() == Engine::tma_store && channel.getOver())
      return channel;
    auto isBefore = [&](Operation *op) {
      return op->getBlock() == store->getBlock() && op->isBeforeInBlock(store);
    };
    auto isRead = [&](Operation *user) {
      auto acquire = dyn_cast<AcquireOp>(user);
      return isBefore(user) &&
             (!acquire ||
              llvm::all_of(acquire->getUsers(), [&](Operation *reader) {
                return !isa<ReleaseOp>(reader) || isBefore(reader);
              }));
    };
    if (channel.getEngine() == Engine::tma &&
        llvm::all_of(channel->getUsers(), isRead))
      free = channel;
  }
  return free;
}

ChannelOp mlir::fa::findStagedBefore(StoreOp store, ChannelType tile) {
  for (auto other : store->getBlock()->getOps<StoreOp>()) {
    auto via = other.getVia() ? other.getVia().getDefiningOp<ChannelOp>()
                              : ChannelOp();
    if (other->isBeforeInBlock(store) && via &&
        via.getEngine() == Engine::tma_store &&
        via.getType().getShape() == tile.getShape() &&
        via.getType().getElementType() == tile.getElementType())
      return via;
  }
  return {};
}

ChannelOp mlir::fa::findStagedSums(StoreOp store, ChannelType tile) {
  auto kernel = store->getParentOfType<func::FuncOp>();
  for (ChannelOp channel : kernel.getOps<ChannelOp>())
    if (channel.getEngine() == Engine::tma_store &&
        channel.getType().getStageBytes() == tile.getStageBytes() &&
        channel.getBanks() == store->getParentOfType<RoleOp>().getGroups())
      return channel;
  return {};
}
