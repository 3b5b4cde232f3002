//===- KernelEntry.cpp - Thread numbers and barriers of a kernel ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what stands at the start of a kernel: the base of shared memory, the
// thread numbers of each role, the initialisation of mbarriers. The functions
// stand in the order in which `KernelContext::prepare` calls them.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "KernelContext.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

static constexpr StringLiteral sharedMemoryName = "fagpu_shared_memory";

void KernelContext::emitSharedBase() {
  MLIRContext *context = kernel.getContext();
  auto module = kernel->getParentOfType<ModuleOp>();
  auto pointer = LLVM::LLVMPointerType::get(context, 3);
  Location location = kernel.getLoc();
  OpBuilder builder(context);
  if (!module.lookupSymbol(sharedMemoryName)) {
    builder.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(builder, location,
                           LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External,
                           sharedMemoryName, Attribute(), /*alignment=*/1024,
                           /*addrSpace=*/3);
  }
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value address =
      LLVM::AddressOfOp::create(builder, location, pointer, sharedMemoryName);
  sharedBase = LLVM::PtrToIntOp::create(builder, location, builder.getI32Type(),
                                        address);
}

bool mlir::fagpu::isRunByLanes(RoleOp role) {
  return role.getElect() && sharesCopies(role);
}

/// The threads of a role that starts at thread `start`, of thread `number`.
static RoleThreads makeThreads(Emitter &emit, RoleOp role, Value number,
                               int64_t start) {
  int64_t size = role.getThreadsPerGroup();
  RoleThreads threads;
  if (llvm::isPowerOf2_64(size) && start % size == 0)
    threads.thread = emit.bitAnd(number, size - 1);
  else
    threads.thread = arith::RemUIOp::create(
        emit.builder, emit.location,
        emit.subtract(number, emit.constant(start)), emit.constant(size));
  threads.lane = emit.bitAnd(number, 31);
  threads.warp = emit.shiftRight(threads.thread, 5);
  threads.isGroupLeader = emit.equal(threads.thread, emit.constant(0));
  threads.isWarpLeader = emit.equal(threads.lane, emit.constant(0));
  if (isRunByLanes(role)) {
    // Branches on it are then known to be uniform.
    threads.warp = emit.firstLane(threads.warp);
    threads.isElected = threads.isGroupLeader;
  }
  return threads;
}

void KernelContext::emitThreads() {
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(sharedBase.getDefiningOp());
  Emitter emit(builder, kernel.getLoc());
  Value number =
      NVVM::ThreadIdXOp::create(builder, kernel.getLoc(), builder.getI32Type());
  int64_t start = 0;
  for (RoleOp role : kernel.getOps<RoleOp>()) {
    threads[role] = makeThreads(emit, role, number, start);
    // Lowered copies do not tell.
    if (isRunByLanes(role))
      role->setAttr(runByLanesAttrName, builder.getUnitAttr());
    firstThreads[role] = start;
    start += role.getThreadsOfBlock();
  }
}

RoleThreads KernelContext::readThreads(Emitter &emit, Operation *op) const {
  auto role = op->getParentOfType<RoleOp>();
  Value number = emit.inlinePTX("mov.u32 $0, %tid.x;", "=r", {},
                                emit.builder.getI32Type())[0];
  return makeThreads(emit, role, number, firstThreads.at(role));
}

/// Thread 0 sets up every mbarrier before anybody uses one.
void KernelContext::emitBarriers() {
  auto hasBarriers = [](auto op) { return op.getBarriers().has_value(); };
  if (llvm::none_of(kernel.getOps<ChannelOp>(), hasBarriers) &&
      llvm::none_of(kernel.getOps<MailOp>(), hasBarriers))
    return;
  Location location = kernel.getLoc();
  RoleOp firstRole = *kernel.getOps<RoleOp>().begin();
  OpBuilder builder(firstRole);
  Emitter emit(builder, location);
  Value number =
      NVVM::ThreadIdXOp::create(builder, location, builder.getI32Type());
  auto isFirst = scf::IfOp::create(builder, location,
                                   emit.equal(number, emit.constant(0)), false);
  OpBuilder inside = isFirst.getThenBodyBuilder();
  Emitter init(inside, location);
  auto initialise = [&](auto op, int64_t numStages) {
    if (!op.getBarriers())
      return;
    for (int64_t stage = 0; stage < 2 * numStages; ++stage) {
      Value barrier = init.sharedPointer(
          init.add(sharedBase, *op.getBarriers() + 8 * stage));
      Value arrivals = init.constant((*op.getArrivals())[stage >= numStages]);
      NVVM::MBarrierInitOp::create(inside, location, barrier, arrivals,
                                   Value());
    }
  };
  for (ChannelOp channel : kernel.getOps<ChannelOp>())
    initialise(channel, channel.getNumStages());
  for (MailOp mail : kernel.getOps<MailOp>())
    initialise(mail, mail.getType().getDepth());
  NVVM::FenceMbarrierInitOp::create(inside, location);
  if (getClusterSize(kernel) > 1)
    emit.synchronizeCluster();
  else
    NVVM::Barrier0Op::create(builder, location);
}

/// Group 0 gets the first turn; bulk stores are complete when a role ends.
void KernelContext::frameRoles() {
  Location location = kernel.getLoc();
  for (RoleOp role : kernel.getOps<RoleOp>()) {
    SetVector<Operation *> turns;
    bool stores = false;
    role.walk([&](Operation *op) {
      if (auto take = dyn_cast<TakeOp>(op))
        turns.insert(take.getTurns().getDefiningOp());
      stores |= isa<DrainOp>(op);
      if (auto store = dyn_cast<StoreOp>(op))
        stores |= store.getVia() &&
                  store.getVia().getDefiningOp<ChannelOp>().getEngine() ==
                      Engine::tma_store;
    });
    OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
    for (Operation *op : turns) {
      Emitter emit(builder, location);
      auto isFirst = scf::IfOp::create(
          builder, location, emit.equal(role.getGroup(), emit.constant(0)),
          false);
      OpBuilder inside = isFirst.getThenBodyBuilder();
      Emitter arrive(inside, location);
      NVVM::BarrierArriveOp::create(
          inside, location, arrive.constant(*cast<TurnsOp>(op).getBarrier()),
          arrive.constant(2 * role.getThreadsPerGroup()));
    }
    if (!stores)
      continue;
    builder.setInsertionPointToEnd(&role.getBody().front());
    NVVM::CpAsyncBulkWaitGroupOp::create(
        builder, location, builder.getI32IntegerAttr(0), UnitAttr());
  }
}

const RoleThreads &KernelContext::getThreads(Operation *op) const {
  return threads.find(op->getParentOfType<RoleOp>())->second;
}
