//===- FormChannels.cpp - Operands of products through shared memory ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings operands of products through shared memory: each fagpu.fetch becomes
// a multi-stage channel with put, acquire and release, by TMA or by threads.
// Matrices that are stored get a staging tile. Read `run`, `formChannel`,
// then `stageStore`.
//
//===----------------------------------------------------------------------===//

#include "ChannelTypes.h"
#include "GroupDependence.h"
#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUFORMCHANNELSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// What barriers and mail take of shared memory, at most.
static constexpr int64_t reservedBytes = 2048;

namespace {
class ChannelFormer {
public:
  explicit ChannelFormer(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        config(getGPUPart(kernel)), hasGroups(config.hasGroups()) {}
  LogicalResult run();

private:
  LogicalResult formChannel(FetchOp fetch);
  Engine chooseEngine(FetchOp fetch);
  void readFrom(Value view, FetchOp fetch);
  void release(FetchOp fetch, Value view);
  void stageStore(StoreOp store);
  void stageStoreOfGroup(StoreOp store, RankedTensorType tile);
  unsigned getDepth(FetchOp fetch);
  int64_t countBanks(FetchOp fetch);
  bool exceedsMemory(ArrayRef<FetchOp> fetches);
  int64_t getSharedBytes();
  ChannelOp makeChannel(Location loc, RankedTensorType tile, unsigned depth,
                        Engine engine, int64_t banks, Value over);

  func::FuncOp kernel;
  OpBuilder builder;
  GPUPart config;
  bool hasGroups;
  /// Whether not all channels have the stages of the configuration.
  bool sparesStages = false;
};
} // namespace

ChannelOp ChannelFormer::makeChannel(Location loc, RankedTensorType tile,
                                     unsigned depth, Engine engine,
                                     int64_t banks, Value over) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*kernel.getOps<RoleOp>().begin());
  ChannelType type = makeChannelType(tile, depth);
  return ChannelOp::create(builder, loc, type, engine, /*multicast=*/false,
                           static_cast<int32_t>(banks), over, IntegerAttr(),
                           IntegerAttr(), DenseI32ArrayAttr());
}

/// Products read the stage; for anything else it is loaded into registers.
void ChannelFormer::readFrom(Value view, FetchOp fetch) {
  auto isProduct = [](OpOperand &use) {
    return isa<ProductOp>(use.getOwner());
  };
  fetch.getResult().replaceUsesWithIf(view, isProduct);
  if (fetch->use_empty())
    return;
  Value loaded = LoadOp::create(builder, fetch.getLoc(), fetch.getType(), view);
  fetch.getResult().replaceAllUsesWith(loaded);
}

/// Behind the last operation, in the block of the fetch, that reads it.
void ChannelFormer::release(FetchOp fetch, Value view) {
  Operation *last = nullptr;
  for (Operation *user : view.getUsers()) {
    Operation *ancestor = fetch->getBlock()->findAncestorOpInBlock(*user);
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  builder.setInsertionPointAfter(last);
  ReleaseOp::create(builder, fetch.getLoc(), view);
}

/// Stages of the channel that a fetch becomes. Where shared memory does not
/// hold as many of all, what one product reads has one: it is free again before
/// the step ends.
unsigned ChannelFormer::getDepth(FetchOp fetch) {
  if (!fetch->getParentOfType<ForOp>())
    return config.overlap == Overlap::tiles ? 2 : 1;
  return sparesStages && fetch->hasOneUse()
             ? 1
             : static_cast<unsigned>(config.stages);
}

/// Where each group reads a part of its own.
int64_t ChannelFormer::countBanks(FetchOp fetch) {
  auto role = fetch->getParentOfType<RoleOp>();
  bool isOfGroup = role.getGroups() > 1 &&
                   llvm::any_of(fetch.getOffsets(), [&](Value offset) {
                     return dependsOnGroup(offset, role);
                   });
  return isOfGroup ? role.getGroups() : 1;
}

/// Whether all channels take more than there is with all of their stages.
bool ChannelFormer::exceedsMemory(ArrayRef<FetchOp> fetches) {
  StringRef chip =
      kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
          .getValue();
  const GPUTarget *target = lookupGPUTarget(chip);
  int64_t bytes = reservedBytes;
  for (FetchOp fetch : fetches) {
    RankedTensorType tile = fetch.getType();
    bytes += tile.getNumElements() * tile.getElementTypeBitWidth() / 8 *
             getDepth(fetch) * countBanks(fetch);
  }
  return target && bytes > target->sharedMemoryPerBlock;
}

/// Copies that threads start take 4 bytes at least.
Engine ChannelFormer::chooseEngine(FetchOp fetch) {
  if (hasGroups)
    return Engine::tma;
  return fetch.getAlignment() < 4 ? Engine::loads : Engine::cp_async;
}

LogicalResult ChannelFormer::formChannel(FetchOp fetch) {
  if (fetch->use_empty()) {
    fetch.erase();
    return success();
  }
  if (fetch.getPadded() && !hasGroups)
    return fetch.emitOpError()
           << "is padded at the ends of " << fetch.getSource().getType()
           << ", which only bulk copies do; expected warp_groups";
  auto role = fetch->getParentOfType<RoleOp>();
  Value bank;
  if (countBanks(fetch) > 1)
    bank = role.getGroup();
  ChannelOp channel =
      makeChannel(fetch.getLoc(), fetch.getType(), getDepth(fetch),
                  chooseEngine(fetch), bank ? role.getGroups() : 1, Value());
  builder.setInsertionPoint(fetch);
  PutOp::create(builder, fetch.getLoc(), channel, bank, ValueRange(),
                fetch.getSource(), fetch.getOffsets(), fetch.getSizes(),
                fetch.getRows(), fetch.getColumns(), Value(), Value(), Value(),
                fetch.getAlignment(), fetch.getPadded());
  Value view =
      AcquireOp::create(builder, fetch.getLoc(), channel.getType().getView(),
                        channel, bank, Value(), Value(), IntegerAttr());
  readFrom(view, fetch);
  release(fetch, view);
  fetch.erase();
  return success();
}

int64_t ChannelFormer::getSharedBytes() {
  int64_t bytes = reservedBytes;
  for (ChannelOp channel : kernel.getOps<ChannelOp>())
    if (!channel.getOver())
      bytes += channel.getType().getStageBytes() *
               channel.getType().getDepth() * channel.getBanks();
  return bytes;
}

/// Where shared memory is left, a group's rows leave it by a bulk copy.
void ChannelFormer::stageStoreOfGroup(StoreOp store, RankedTensorType tile) {
  auto role = store->getParentOfType<RoleOp>();
  StringRef chip =
      kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
          .getValue();
  const GPUTarget *target = lookupGPUTarget(chip);
  int64_t bytes = tile.getNumElements() * tile.getElementTypeBitWidth() / 8 *
                  role.getGroups();
  if (!target || getSharedBytes() + bytes > target->sharedMemoryPerBlock ||
      store.getAlignment() < 16)
    return;
  ChannelOp via = makeChannel(store.getLoc(), tile, 1, Engine::tma_store,
                              role.getGroups(), Value());
  store.getViaMutable().assign(via);
  if (role.getGroups() > 1)
    store.getBankMutable().assign(role.getGroup());
}

/// The memory of a channel that is released before, if its tile is the same.
void ChannelFormer::stageStore(StoreOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  if (type.getRank() != 2 || store.getVia() ||
      !store->getParentOfType<RoleOp>() ||
      !isPackedElement(type.getElementType()))
    return;
  if (hasGroups)
    return stageStoreOfGroup(store, type);
  for (ChannelOp channel : llvm::to_vector(kernel.getOps<ChannelOp>())) {
    bool isFree = channel.getType().getShape() == type.getShape() &&
                  channel.getType().getElementType() == type.getElementType();
    for (Operation *user : channel->getUsers())
      isFree &= user->getBlock() == store->getBlock() &&
                user->isBeforeInBlock(store) && isa<PutOp, AcquireOp>(user);
    if (!isFree)
      continue;
    ChannelOp via =
        makeChannel(store.getLoc(), type, 1, Engine::threads, 1, channel);
    store.getViaMutable().assign(via);
    return;
  }
}

LogicalResult ChannelFormer::run() {
  SmallVector<FetchOp> fetches;
  SmallVector<StoreOp> stores;
  kernel.walk([&](Operation *op) {
    if (auto fetch = dyn_cast<FetchOp>(op))
      fetches.push_back(fetch);
    else if (auto store = dyn_cast<StoreOp>(op))
      stores.push_back(store);
  });
  sparesStages = hasGroups && exceedsMemory(fetches);
  for (FetchOp fetch : fetches)
    if (failed(formChannel(fetch)))
      return failure();
  llvm::for_each(stores, [&](StoreOp op) { stageStore(op); });
  return success();
}

namespace {
struct FormChannelsPass
    : public fa::impl::FAGPUFormChannelsPassBase<FormChannelsPass> {
  void runOnOperation() override {
    if (isKernel(getOperation()) && failed(ChannelFormer(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
