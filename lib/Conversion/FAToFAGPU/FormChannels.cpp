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
#include "MemoryEnds.h"
#include "StagingChannels.h"
#include "ViewParts.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUFORMCHANNELSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
class ChannelFormer {
public:
  explicit ChannelFormer(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        config(getGPUPart(kernel)), hasGroups(config.hasGroups()),
        available(
            lookupGPUTarget(
                kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
                    .getValue())
                ->sharedMemoryPerBlock) {}
  LogicalResult run();

private:
  LogicalResult formChannel(FetchOp fetch);
  Engine chooseEngine(FetchOp fetch);
  void readFrom(Value view, FetchOp fetch, Value block);
  void release(FetchOp fetch, Value view);
  void stageStore(StoreOp store);
  void stageStoreOfGroup(StoreOp store);
  int64_t countAll(int64_t bytes);
  bool fits(int64_t bytes) { return countAll(bytes) <= available; }
  std::string describe(int64_t bytes);
  unsigned getDepth(FetchOp fetch);
  ChannelType getType(FetchOp fetch);
  int64_t countBanks(FetchOp fetch);
  int64_t countBytes(ArrayRef<FetchOp> fetches);
  void chooseStages(ArrayRef<FetchOp> fetches, ArrayRef<StoreOp> stores);
  void copyExchangedAhead(ArrayRef<FetchOp> fetches, ArrayRef<StoreOp> stores);
  ChannelOp makeChannel(Location loc, ChannelType type, Engine engine,
                        int64_t banks, Value over);

  func::FuncOp kernel;
  OpBuilder builder;
  GPUPart config;
  bool hasGroups;
  /// Bytes of shared memory of a block.
  int64_t available;
  /// Whether not all channels have the stages of the configuration.
  bool sparesStages = false;
  /// Whether what a tile reads once is copied while the one before is at work.
  bool copiesAhead = false;
  /// What alone is copied so: where shared memory has no room for all.
  FetchOp ahead;
  /// Whether results leave through what sums of the loop are added through.
  bool sharesStaging = false;
};
} // namespace

ChannelOp ChannelFormer::makeChannel(Location loc, ChannelType type,
                                     Engine engine, int64_t banks, Value over) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*kernel.getOps<RoleOp>().begin());
  return ChannelOp::create(builder, loc, type, engine, /*multicast=*/false,
                           static_cast<int32_t>(banks), over, IntegerAttr(),
                           IntegerAttr(), DenseI32ArrayAttr());
}

/// Products read the stage; for anything else, and where rows become columns,
/// it is loaded into registers.
void ChannelFormer::readFrom(Value view, FetchOp fetch, Value block) {
  if (!isTransposed(fetch)) {
    slicePartsOf(block, view);
    auto isProduct = [](OpOperand &use) {
      return isa<ProductOp>(use.getOwner());
    };
    block.replaceUsesWithIf(view, isProduct);
  }
  if (block.use_empty())
    return;
  auto loaded = LoadOp::create(builder, fetch.getLoc(), block.getType(), view,
                               fetch.getFragments());
  if (isTransposed(fetch))
    loaded->setAttr(transposedAttrName, builder.getUnitAttr());
  block.replaceAllUsesWith(loaded.getResult());
}

/// Behind the last operation, in the block of the fetch, that reads it.
void ChannelFormer::release(FetchOp fetch, Value view) {
  Operation *last = getLastReader(view, fetch->getBlock());
  builder.setInsertionPointAfter(last);
  ReleaseOp::create(builder, fetch.getLoc(), view);
}

/// Stages of the channel that a fetch becomes. Where shared memory does not
/// hold as many of all, what one product reads has one: it is free again before
/// the step ends. So is what is loaded as rows that become columns, right away.
unsigned ChannelFormer::getDepth(FetchOp fetch) {
  if (!fetch->getParentOfType<ForOp>())
    return copiesAhead || fetch == ahead ? 2 : 1;
  return (sparesStages && fetch->hasOneUse()) || isTransposed(fetch)
             ? 1
             : static_cast<unsigned>(config.stages);
}

/// The part of a fetched block with the fewest columns, as it is to consist of
/// whole panels; null where no part is taken.
static RankedTensorType getNarrowestPart(FetchOp fetch) {
  RankedTensorType narrowest;
  for (Operation *user : fetch->getUsers())
    if (auto part = dyn_cast<tensor::ExtractSliceOp>(user))
      if (!narrowest || part.getType().getDimSize(1) < narrowest.getDimSize(1))
        narrowest = part.getType();
  return narrowest;
}

/// What the channel that a fetch becomes holds.
ChannelType ChannelFormer::getType(FetchOp fetch) {
  RankedTensorType tile = fetch.getType();
  if (isTransposed(fetch))
    tile = tile.clone({tile.getDimSize(1), tile.getDimSize(0)});
  if (fetch.getFragments())
    tile = tile.clone({tile.getNumElements()});
  return makeChannelType(tile, getDepth(fetch), getNarrowestPart(fetch));
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

static int64_t countBytes(ChannelType type, int64_t banks) {
  return type.getStageBytes() * type.getDepth() * banks;
}

int64_t ChannelFormer::countBytes(ArrayRef<FetchOp> fetches) {
  int64_t bytes = 0;
  for (FetchOp fetch : fetches)
    if (!fetch.use_empty())
      bytes += ::countBytes(getType(fetch), countBanks(fetch));
  return bytes;
}

/// So many bytes of shared memory beside its channels.
int64_t ChannelFormer::countAll(int64_t bytes) {
  // Barriers of one pass leave room for its mail.
  bytes += barrierBytes + (isPersistent(kernel) && !ahead ? mailBytes : 0);
  for (ChannelOp channel : kernel.getOps<ChannelOp>())
    if (!channel.getOver())
      bytes += ::countBytes(channel.getType(), channel.getBanks());
  return bytes;
}

/// For remarks: what there is for so many bytes beside its channels.
std::string ChannelFormer::describe(int64_t bytes) {
  return llvm::formatv("{0} bytes of shared memory for {1}", countAll(bytes),
                       available);
}

/// What stages the stores of groups, those of the same tile together.
static int64_t countBytes(ArrayRef<StoreOp> stores) {
  int64_t bytes = 0;
  llvm::SmallDenseSet<ChannelType> counted;
  for (StoreOp store : stores)
    if (ChannelType type =
            mayBeStaged(store) ? getStagingType(store) : ChannelType();
        type && counted.insert(type).second)
      bytes += countBytes(type, store->getParentOfType<RoleOp>().getGroups());
  return bytes;
}

/// Whether a product reads a part of a block beside what groups exchange.
static bool isReadBesideExchanged(Value block) {
  return llvm::any_of(block.getUsers(), [](Operation *user) {
    if (auto part = dyn_cast<tensor::ExtractSliceOp>(user))
      return isReadBesideExchanged(part);
    return isa<ProductOp>(user) &&
           llvm::any_of(user->getOperandTypes(), llvm::IsaPred<ViewType>);
  });
}

static remark::RemarkOpts getRemarkOptions(StringRef name) {
  return remark::RemarkOpts::name(name).category("fagpu-form-channels");
}

/// What the last product of a tile reads is copied ahead for the next one,
/// which begins before. Where there is no room beside what stages results,
/// these leave through what stages sums, if a group has as much of it.
void ChannelFormer::copyExchangedAhead(ArrayRef<FetchOp> fetches,
                                       ArrayRef<StoreOp> stores) {
  const auto *found = llvm::find_if(fetches, [](FetchOp fetch) {
    return !fetch->getParentOfType<ForOp>() &&
           isReadBesideExchanged(fetch.getResult());
  });
  if (found == fetches.end())
    return;
  auto options = getRemarkOptions("Ahead");
  if (config.overlap == Overlap::stores) {
    remark::missed(kernel.getLoc(), options)
        << "the next tile waits for the stores of this one: overlap is stores, "
           "not tiles";
    return;
  }
  ahead = *found;
  int64_t copied = countBytes(fetches);
  bool fitsAll = fits(copied + ::countBytes(stores));
  SmallVector<StoreOp> sums = llvm::filter_to_vector(stores, [](StoreOp op) {
    return op->getParentOfType<ForOp>() != nullptr;
  });
  auto isAsLarge = [&](StoreOp result) {
    ChannelType type = getStagingType(result);
    return !mayBeStaged(result) || !type ||
           llvm::any_of(sums, [&](StoreOp sum) {
             return getStagingType(sum) &&
                    getStagingType(sum).getStageBytes() == type.getStageBytes();
           });
  };
  sharesStaging = !fitsAll && llvm::all_of(stores, isAsLarge) &&
                  fits(copied + ::countBytes(sums));
  if (fitsAll || sharesStaging) {
    remark::passed(kernel.getLoc(), options)
        << (sharesStaging ? "the next tile begins while results leave, through "
                            "what sums leave through"
                          : "the next tile begins while results leave");
    return;
  }
  remark::missed(kernel.getLoc(), options)
      << "the next tile waits for the stores of this one: copies ahead take " +
             describe(copied + ::countBytes(stores));
  ahead = FetchOp();
}

/// By what shared memory holds.
void ChannelFormer::chooseStages(ArrayRef<FetchOp> fetches,
                                 ArrayRef<StoreOp> stores) {
  // What sums of queries become has no loop, whose stages leave room for none.
  bool leavesNone = isOnePass(kernel) &&
                    kernel.walk([](ForOp) { return WalkResult::interrupt(); })
                        .wasInterrupted();
  copiesAhead = config.overlap == Overlap::tiles && !leavesNone;
  // In a cluster, whose blocks copy keys for each other, a kernel has 0.98 to
  // 1.00 of the speed with queries ahead, others have 1.01 to 1.07; gradients
  // have 1.00 to 1.13 with what a block reads once (measured on an H200).
  if (isPersistent(kernel) && config.overlap == Overlap::keys &&
      getClusterSize(kernel) == 1) {
    copiesAhead = true;
    // Else copies of the next keys wait for the end of the tile.
    int64_t bytes = countBytes(fetches) + ::countBytes(stores);
    copiesAhead = fits(bytes);
    if (!copiesAhead)
      remark::missed(kernel.getLoc(), getRemarkOptions("Ahead"))
          << "the next tile waits for the end of this one: copies ahead take " +
                 describe(bytes);
  }
  int64_t bytes = countBytes(fetches);
  sparesStages = hasGroups && !fits(bytes);
  if (sparesStages)
    remark::missed(kernel.getLoc(), getRemarkOptions("Stages"))
        << llvm::formatv("what one product reads has 1 stage, not {0}, which "
                         "take {1}",
                         config.stages, describe(bytes))
               .str();
  if (leavesNone && isPersistent(kernel) && !sparesStages)
    copyExchangedAhead(fetches, stores);
}

/// Copies that threads start take 4 bytes at least.
Engine ChannelFormer::chooseEngine(FetchOp fetch) {
  if (hasGroups) {
    int64_t rowDim = getRowDim(fetch.getSizes(), /*tileRank=*/2);
    int64_t ofPage =
        cast<MemRefType>(fetch.getSource().getType()).getDimSize(rowDim);
    return fetch.getPages() && findsRows(ofPage, fetch.getSizes()[rowDim])
               ? Engine::pages
               : Engine::tma;
  }
  return fetch.getAlignment() < 4 ? Engine::loads : Engine::cp_async;
}

/// Where the stage of a fetch is acquired. Threads that copy what they load
/// into registers need it where they use it: the copies of a next fetch start
/// before that.
static Operation *getPlaceOfAcquire(FetchOp fetch, bool copiesItself) {
  auto isProduct = [](Operation *user) { return isa<ProductOp>(user); };
  if (!copiesItself || fetch->getParentOfType<ForOp>() ||
      llvm::any_of(fetch->getUsers(), isProduct))
    return fetch;
  Operation *first = nullptr;
  for (Operation *user : fetch->getUsers()) {
    Operation *reader = fetch->getBlock()->findAncestorOpInBlock(*user);
    if (!first || reader->isBeforeInBlock(first))
      first = reader;
  }
  return first;
}

LogicalResult ChannelFormer::formChannel(FetchOp fetch) {
  if (fetch.use_empty()) {
    fetch.erase();
    return success();
  }
  if (fetch.getPadded() && !hasGroups)
    return fetch.emitOpError()
           << "is padded at the ends of " << fetch.getSource().getType()
           << ", which only bulk copies do; expected warp_groups";
  if (fetch.getPages() && !hasGroups)
    return fetch.emitOpError() << "reads rows in pages, which only a role that "
                                  "copies for others does; expected "
                                  "warp_groups";
  auto role = fetch->getParentOfType<RoleOp>();
  Value bank;
  if (countBanks(fetch) > 1)
    bank = role.getGroup();
  ChannelType type = getType(fetch);
  ChannelOp channel = makeChannel(fetch.getLoc(), type, chooseEngine(fetch),
                                  bank ? role.getGroups() : 1, Value());
  builder.setInsertionPoint(fetch);
  if (hasGroups && type.getShape().size() == 2 && !fetch.getPages())
    endWithMemory(fetch, fetch.getSizes(),
                  cast<MemRefType>(fetch.getSource().getType()));
  auto put = PutOp::create(
      builder, fetch.getLoc(), channel, bank, ValueRange(), fetch.getSource(),
      fetch.getOffsets(), fetch.getSizes(), fetch.getRows(), fetch.getColumns(),
      Value(), Value(), Value(), fetch.getAlignment(), fetch.getPadded(),
      /*l2Promotion=*/128, /*cache=*/CachePriorityAttr(), fetch.getPages(),
      fetch.getPageDimAttr());
  if (fillsNaN(fetch))
    put->setAttr(nanAttrName, builder.getUnitAttr());
  builder.setInsertionPoint(getPlaceOfAcquire(fetch, !hasGroups));
  Value view =
      AcquireOp::create(builder, fetch.getLoc(), channel.getType().getView(),
                        channel, bank, Value(), Value(), IntegerAttr());
  readFrom(view, fetch, fetch.getResult());
  release(fetch, view);
  fetch.erase();
  return success();
}

/// Where shared memory is left, a group's rows leave it by a bulk copy.
void ChannelFormer::stageStoreOfGroup(StoreOp store) {
  ChannelType type = getStagingType(store);
  if (!type)
    return;
  auto role = store->getParentOfType<RoleOp>();
  bool hasRoom = fits(::countBytes(type, role.getGroups()));
  ChannelOp via = findFreeMemory(store, type);
  if (!via && !hasRoom)
    via = findStagedBefore(store, type);
  ChannelOp over = via;
  if (!via && !hasRoom && sharesStaging)
    over = findStagedSums(store, type);
  if (!over && !hasRoom)
    return;
  if (!endWithMemory(store, store.getBox(),
                     cast<MemRefType>(store.getDestination().getType())))
    return;
  if (!via || via.getEngine() != Engine::tma_store)
    via = makeChannel(store.getLoc(), type, Engine::tma_store, role.getGroups(),
                      over ? over.getResult() : Value());
  store.getViaMutable().assign(via);
  if (role.getGroups() > 1)
    store.getBankMutable().assign(role.getGroup());
}

/// The memory of a channel that is released before, if its tile is the same.
void ChannelFormer::stageStore(StoreOp store) {
  if (!mayBeStaged(store))
    return;
  if (hasGroups)
    return stageStoreOfGroup(store);
  auto type = cast<RankedTensorType>(store.getValue().getType());
  for (ChannelOp channel : llvm::to_vector(kernel.getOps<ChannelOp>())) {
    bool isFree = channel.getType().getShape() == type.getShape() &&
                  channel.getType().getElementType() == type.getElementType();
    for (Operation *user : channel->getUsers())
      isFree &= user->getBlock() == store->getBlock() &&
                user->isBeforeInBlock(store) && isa<PutOp, AcquireOp>(user);
    if (!isFree)
      continue;
    ChannelOp via =
        makeChannel(store.getLoc(), makeChannelType(type, /*depth=*/1),
                    Engine::threads, /*banks=*/1, channel);
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
  chooseStages(fetches, stores);
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
