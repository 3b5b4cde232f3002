//===- PlanResources.cpp - Shared memory and barriers of a kernel ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each channel and mail its offset in shared memory and its mbarriers
// with their arrival counts, each role its named barriers, and checks the
// sums against the chip's limits. Read `plan`, whose steps stand above it.
//
//===----------------------------------------------------------------------===//

#include "ChannelUse.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Target/GPUTarget.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUPLANRESOURCESPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {

class ResourcePlanner {
public:
  ResourcePlanner(func::FuncOp kernel, const fa::GPUTarget &target)
      : kernel(kernel), target(target), builder(kernel.getContext()) {}

  LogicalResult plan() {
    placeTiles();
    placeMails();
    placeTickets();
    for (ChannelOp channel : kernel.getOps<ChannelOp>())
      if (!isPrivateToWarps(channel))
        placeBarriers(channel, channel.getNumStages());
    for (MailOp mail : kernel.getOps<MailOp>())
      placeBarriers(mail, mail.getType().getDepth());
    if (failed(placeNamedBarriers()) || failed(verifyThreads()))
      return failure();
    return setSharedMemory();
  }

private:
  int64_t take(int64_t bytes, int64_t alignment) {
    int64_t offset = llvm::alignTo(sharedBytes, alignment);
    sharedBytes = offset + bytes;
    return offset;
  }

  /// The swizzle is of address bits, so a tile starts where its pattern does,
  /// and those of channels over it too.
  static int64_t tileAlignment(ChannelOp channel) {
    int64_t swizzle = channel.getType().getLayout().getSwizzle();
    int64_t alignment = swizzle ? 8 * swizzle : 128;
    for (Operation *user : channel->getUsers())
      if (auto above = dyn_cast<ChannelOp>(user))
        alignment = std::max(alignment, tileAlignment(above));
    return alignment;
  }

  void placeTiles() {
    for (ChannelOp channel : kernel.getOps<ChannelOp>()) {
      if (channel.getOver()) {
        auto over = channel.getOver().getDefiningOp<ChannelOp>();
        channel.setOffset(*over.getOffset());
        continue;
      }
      int64_t bytes =
          channel.getNumStages() * channel.getType().getStageBytes();
      channel.setOffset(take(bytes, tileAlignment(channel)));
    }
  }

  void placeMails() {
    for (MailOp mail : kernel.getOps<MailOp>()) {
      MailType type = mail.getType();
      int64_t stageBytes = 4 * type.getTypes().size();
      mail.setOffset(take(stageBytes * type.getDepth(), 16));
    }
  }

  /// Warps that share copies hear of the tickets of one thread.
  void placeTickets() {
    for (RoleOp role : kernel.getOps<RoleOp>())
      if (sharesCopies(role))
        role.walk([&](TicketOp ticket) {
          ticket->setAttr(toldAtAttrName,
                          builder.getI32IntegerAttr(take(4, 4)));
        });
  }

  /// Arrivals of a put, at a barrier of a full stage: those of lanes that copy
  /// rows, or of warps that copy boxes.
  static int32_t countArrivals(PutOp put) {
    if (!put.getPages())
      return ChannelUse(put).getNumParts();
    auto warps = put->getParentOfType<RoleOp>().getWarps();
    auto channel = put.getChannel().getDefiningOp<ChannelOp>();
    if (channel.getEngine() == Engine::pages)
      return 32 * warps;
    return std::min<int64_t>(warps, PageBoxes(put).count);
  }

  /// Arrivals that make a stage full and empty; none if nobody acquires it, or
  /// if threads copy to it, which count their own copies.
  std::optional<std::array<int32_t, 2>> countArrivals(Value channel) {
    if (isCopiedByThreads(channel))
      return std::nullopt;
    int32_t full = 1, empty = 0;
    for (Operation *user : channel.getUsers()) {
      auto role = user->getParentOfType<RoleOp>();
      if (auto put = dyn_cast<PutOp>(user))
        full = countArrivals(put);
      else if (auto write = dyn_cast<WriteOp>(user))
        full = role.getWarps() * (write.getBank() ? 1 : role.getGroups());
      else if (auto acquire = dyn_cast<AcquireOp>(user))
        empty = (acquire.getBank() ? 1 : role.getGroups()) *
                (isReadByLoads(channel) ? role.getWarps() : 1);
      else if (isa<RecvOp>(user))
        empty = role.getGroups() * role.getWarps();
    }
    if (!empty)
      return std::nullopt;
    // Groups of all blocks release what all blocks fill.
    auto made = channel.getDefiningOp<ChannelOp>();
    if (made && made.getMulticast())
      empty *= getClusterSize(kernel);
    return std::array<int32_t, 2>{full, empty};
  }

  template <typename Op> void placeBarriers(Op op, int64_t numStages) {
    std::optional<std::array<int32_t, 2>> arrivals =
        countArrivals(op.getResult());
    if (!arrivals)
      return;
    op.setBarriers(take(16 * numStages, 8));
    op.setArrivals(*arrivals);
  }

  /// Whether the threads of a group wait for each other at the operation by a
  /// barrier of their own. A group that is the whole block has barrier 0; so
  /// have all groups of a role that is.
  bool synchronizesGroup(Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op))
      return store.getVia() &&
             store.getVia().getDefiningOp<ChannelOp>().getEngine() ==
                 Engine::tma_store;
    if (op->hasAttr(toldAtAttrName) || isa<SyncOp>(op))
      return op->hasAttr(toldAtAttrName) || !isBlock();
    RoleOp role = *kernel.getOps<RoleOp>().begin();
    return isa<AnyOp>(op) && !(isBlock() && role.getGroups() == 1);
  }

  /// Whether one role is the whole block.
  bool isBlock() { return llvm::hasSingleElement(kernel.getOps<RoleOp>()); }

  /// Whether all groups of a role wait for each other by one more barrier.
  bool synchronizesRole(RoleOp role) {
    return !isBlock() && role.getGroups() > 1 &&
           role.walk([](SyncOp) { return WalkResult::interrupt(); })
               .wasInterrupted();
  }

  LogicalResult placeNamedBarriers() {
    // Barrier 0 is that of the whole block.
    int64_t next = 1;
    for (TurnsOp turns : kernel.getOps<TurnsOp>()) {
      turns.setBarrier(next);
      next += turns.getGroups();
    }
    for (RoleOp role : kernel.getOps<RoleOp>()) {
      WalkResult result = role.walk([&](Operation *op) {
        return synchronizesGroup(op) ? WalkResult::interrupt()
                                     : WalkResult::advance();
      });
      if (!result.wasInterrupted())
        continue;
      role.setBarrier(next);
      next += role.getGroups() + synchronizesRole(role);
    }
    if (next <= target.namedBarriers)
      return success();
    return kernel.emitOpError()
           << "needs " << next << " named barriers, but " << target.chip
           << " has " << target.namedBarriers;
  }

  /// Warps are given registers by fours, and roles start at such a group.
  LogicalResult verifyThreads() {
    int64_t threads = 0, registers = 0;
    for (RoleOp role : kernel.getOps<RoleOp>()) {
      int64_t ofRole = role.getThreadsOfBlock();
      threads += ofRole;
      registers += ofRole * role.getRegs().value_or(0);
    }
    if (threads > target.threadsPerBlock)
      return kernel.emitOpError()
             << "has " << threads << " threads in its roles, but a block of "
             << target.chip << " has at most " << target.threadsPerBlock;
    // Roles wait for ever for registers that the launch did not bring along.
    int64_t perThread = target.registersPerSM / getBlocksPerSM() /
                        std::max<int64_t>(threads, 1) / 8 * 8;
    int64_t available = threads * std::min<int64_t>(perThread, 256);
    if (registers <= available)
      return success();
    return kernel.emitOpError()
           << "has " << registers << " registers in its roles, but a block of "
           << threads << " threads on " << target.chip << " has " << available
           << " at " << getBlocksPerSM() << " a multiprocessor, "
           << available / threads << " a thread";
  }

  int64_t getBlocksPerSM() {
    auto blocks =
        kernel->getAttrOfType<IntegerAttr>(FAGPUDialect::blocksPerSMAttrName);
    return blocks ? blocks.getInt() : 1;
  }

  LogicalResult setSharedMemory() {
    int64_t bytes = llvm::alignTo(sharedBytes, 128);
    int64_t available = std::min(target.sharedMemoryPerBlock,
                                 target.sharedMemoryPerSM / getBlocksPerSM() -
                                     target.reservedSharedMemoryPerBlock);
    if (bytes > available)
      return kernel.emitOpError()
             << "takes " << bytes << " bytes of shared memory, but a block of "
             << target.chip << " has " << available << " at "
             << getBlocksPerSM() << " a multiprocessor";
    kernel->setAttr(FAGPUDialect::sharedMemoryAttrName,
                    builder.getI64IntegerAttr(std::max<int64_t>(bytes, 128)));
    return success();
  }

  func::FuncOp kernel;
  const fa::GPUTarget &target;
  Builder builder;
  int64_t sharedBytes = 0;
};

struct PlanResourcesPass
    : public fagpu::impl::FAGPUPlanResourcesPassBase<PlanResourcesPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    auto chip = kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName);
    if (!chip)
      return;
    if (failed(ResourcePlanner(kernel, *fa::lookupGPUTarget(chip.getValue()))
                   .plan()))
      signalPassFailure();
  }
};
} // namespace
