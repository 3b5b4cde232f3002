//===- ChannelPatterns.cpp - Channels to shared memory and mbarriers ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the channels that TMA fills: a channel is a ring of stages in shared
// memory, each guarded by a full and an empty mbarrier. Read `addressStage`,
// then `PutPattern` (producer), `AcquirePattern` and `ReleasePattern`
// (consumer); mail slots and turns follow.
//
//===----------------------------------------------------------------------===//

#include "BoxCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

static StageAddress locateStage(Emitter &emit, Value base, int64_t offset,
                                int64_t barriers, int64_t stageBytes,
                                int64_t numStages, Value number) {
  Value barrier = emit.shiftLeft(number, 3);
  return {emit.add(emit.multiply(number, stageBytes), emit.add(base, offset)),
          emit.add(barrier, emit.add(base, barriers)),
          emit.add(barrier, emit.add(base, barriers + 8 * numStages))};
}

// Banks lie beside each other in each stage.
StageAddress mlir::fagpu::addressStage(Emitter &emit,
                                       const KernelContext &kernel,
                                       Value channel, Value stage, Value bank) {
  auto made = channel.getDefiningOp<ChannelOp>();
  Value number = emit.multiply(stage, made.getBanks());
  if (bank)
    number = emit.add(number, bank);
  if (!made.getBarriers()) {
    Value none = emit.constant(0);
    Value base = emit.add(kernel.getSharedBase(), *made.getOffset());
    Value data =
        emit.add(emit.multiply(number, made.getType().getStageBytes()), base);
    return {data, none, none};
  }
  return locateStage(emit, kernel.getSharedBase(), *made.getOffset(),
                     *made.getBarriers(), made.getType().getStageBytes(),
                     made.getNumStages(), number);
}

static StageAddress addressStage(Emitter &emit, const KernelContext &kernel,
                                 Value mail, Value stage) {
  auto made = mail.getDefiningOp<MailOp>();
  return locateStage(emit, kernel.getSharedBase(), *made.getOffset(),
                     *made.getBarriers(), 4 * made.getType().getTypes().size(),
                     made.getType().getDepth(), stage);
}

SmallVector<Value> mlir::fagpu::getCoordinates(Emitter &emit,
                                               const KernelContext &kernel,
                                               const TensorMap &map,
                                               Value memory, ValueRange offsets,
                                               Value rows) {
  auto type = cast<MemRefType>(memory.getType());
  unsigned columnDim = type.getRank() - 1, rowDim = map.row;
  bool hasPanels = map.panels > 1;
  Value panel = emit.shiftRight(offsets[columnDim], llvm::Log2_64(map.columns));
  SmallVector<Value> coordinates = {hasPanels ? emit.constant(0)
                                              : offsets[columnDim]};
  if (map.bounded) {
    // See docs/GPU/TensorMaps.md: rows end where their dimension does.
    Value last = emit.constant(int64_t(1) << 30);
    coordinates.push_back(emit.add(emit.subtract(last, rows), offsets[rowDim]));
    if (hasPanels)
      coordinates.push_back(panel);
    coordinates.push_back(last);
    Value sum = emit.multiply(rows, kernel.getUnitStride(memory, rowDim));
    for (unsigned dim = 0; dim < columnDim; ++dim)
      if (dim != rowDim)
        sum = emit.add(sum, emit.multiply(offsets[dim],
                                          kernel.getUnitStride(memory, dim)));
    coordinates.push_back(sum);
    return coordinates;
  }
  for (bool large : {true, false}) {
    for (unsigned dim = columnDim; dim-- > 0;)
      if ((map.box[dim] > 1) == large)
        coordinates.push_back(offsets[dim]);
    if (large && hasPanels)
      coordinates.push_back(panel);
  }
  return coordinates;
}

static Value clusterPointer(Emitter &emit, Value address) {
  return LLVM::AddrSpaceCastOp::create(
      emit.builder, emit.location,
      LLVM::LLVMPointerType::get(emit.builder.getContext(), 7),
      emit.sharedPointer(address));
}

void mlir::fagpu::expectBytes(Emitter &emit, Value barrier, Value bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      emit.builder, emit.location, TypeRange{}, barrier, bytes,
      NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
}

void mlir::fagpu::startCopy(Emitter &emit, const KernelContext &kernel,
                            PutOp put, const BoxCopy &box) {
  const TensorMap &map = kernel.getTensorMap(put);
  int64_t panelBytes = put.getChannel().getType().getShape()[0] * map.swizzle;
  for (int64_t copy = 0; copy < map.copies; ++copy) {
    SmallVector<Value> at(box.offsets);
    if (copy)
      at.back() = emit.add(at.back(), copy * map.columns);
    Value target =
        clusterPointer(emit, emit.add(box.target, copy * panelBytes));
    SmallVector<Value> coordinates =
        getCoordinates(emit, kernel, map, put.getSource(), at, box.rows);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        emit.builder, emit.location, target, kernel.getTensorMapParameter(map),
        coordinates, box.barrier, /*im2colOffsets=*/ValueRange{},
        /*multicastMask=*/box.blocks, emit.createCachePolicy(put.getCache()),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(),
        /*predicate=*/Value());
  }
}

void mlir::fagpu::enter(Emitter &emit, Value condition) {
  auto branch =
      scf::IfOp::create(emit.builder, emit.location, condition, false);
  emit.builder.setInsertionPointToStart(branch.thenBlock());
}

void mlir::fagpu::enterFirstWarp(Emitter &emit, const RoleThreads &threads) {
  if (threads.isElected)
    enter(emit, emit.equal(threads.warp, emit.constant(0)));
}

// Bulk copies of a lane that the hardware elects need no loop over lanes.
void mlir::fagpu::enterElectedLane(Emitter &emit) {
  enter(emit, NVVM::ElectSyncOp::create(emit.builder, emit.location,
                                        emit.builder.getI1Type(), Value()));
}

void mlir::fagpu::enterElected(Emitter &emit, const RoleThreads &threads) {
  if (!threads.isElected)
    return;
  enterFirstWarp(emit, threads);
  enterElectedLane(emit);
}

bool mlir::fagpu::isCopiedOverLoads(Value channel) {
  auto op = channel.getDefiningOp<ChannelOp>();
  if (op.getEngine() != Engine::tma)
    return false;
  // Channels over one another share stages.
  auto readsStages = [&](Value other) { return other && isReadByLoads(other); };
  return isReadByLoads(channel) || readsStages(op.getOver()) ||
         llvm::any_of(channel.getUsers(), [&](Operation *user) {
           auto above = dyn_cast<ChannelOp>(user);
           return above && readsStages(above.getResult());
         });
}

// One thread's fence, rather than one of each warp that reads.
void mlir::fagpu::fenceCopyOverLoads(Emitter &emit, PutOp put) {
  if (isCopiedOverLoads(put.getChannel()) &&
      getNumSharers(put.getChannel()) == 1)
    emit.fenceAsynchronousProxy();
}

namespace {

struct AcquirePattern : public LoweringPattern<AcquireOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(AcquireOp op) const override {
    return !isCopiedByThreads(op.getChannel());
  }

  Registers lower(AcquireOp op, Adaptor adaptor, Emitter &emit) const override {
    auto channel = op.getChannel().getDefiningOp<ChannelOp>();
    StageAddress stage = addressStage(emit, kernel, op.getChannel(),
                                      getOptional(adaptor.getStage()),
                                      getOptional(adaptor.getBank()));
    if (channel.getBarriers())
      emit.waitPhase(stage.full, getOptional(adaptor.getPhase()));
    // Lanes write by the generic proxy, products read by the asynchronous one.
    if (channel.getEngine() == Engine::pages)
      emit.fenceAsynchronousProxy();
    return {SmallVector<Value>{stage.data, stage.empty}};
  }
};

struct ReleasePattern : public LoweringPattern<ReleaseOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(ReleaseOp op, Adaptor adaptor, Emitter &emit) const override {
    Value barrier = adaptor.getView()[1];
    const RoleThreads &threads = kernel.getThreads(op);
    auto acquire = op.getView().getDefiningOp<AcquireOp>();
    // Where no barrier guards the stage, the view has no address of one.
    if (matchPattern(barrier, m_Zero()))
      return {};
    int64_t sharers = acquire ? getNumSharers(acquire.getChannel()) : 1;
    if (acquire && isReadByLoads(acquire.getChannel())) {
      if (sharers > 1 && isCopiedOverLoads(acquire.getChannel()))
        emit.fenceAsynchronousProxy();
      NVVM::SyncWarpOp::create(emit.builder, emit.location, emit.constant(-1));
      if (sharers > 1)
        releaseInCluster(emit, barrier, threads.lane, sharers);
      else
        emit.arrive(barrier, threads.isWarpLeader);
    } else if (sharers > 1) {
      releaseInCluster(emit, barrier, threads.thread, sharers);
    } else if (op->getParentOfType<RoleOp>().getElect()) {
      // Whichever thread was elected.
      emit.arrive(barrier);
    } else {
      emit.arrive(barrier, threads.isGroupLeader);
    }
    return {};
  }

private:
  /// As many threads as there are blocks in the cluster arrive, each at its
  /// block's barrier.
  static void releaseInCluster(Emitter &emit, Value barrier, Value thread,
                               int64_t blocks) {
    Value arrives = emit.isBelow(thread, emit.constant(blocks));
    emit.arriveInCluster(barrier, thread, arrives);
  }
};

static int64_t getElementBytes(ChannelType type) {
  return type.getElementType().getIntOrFloatBitWidth() / 8;
}

struct PutPattern : public LoweringPattern<PutOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(PutOp op) const override {
    return !op.getPages() &&
           op.getChannel().getDefiningOp<ChannelOp>().getEngine() ==
               Engine::tma;
  }

  Registers lower(PutOp op, Adaptor adaptor, Emitter &emit) const override {
    OpBuilder::InsertionGuard guard(emit.builder);
    if (Value condition = getOptional(adaptor.getCondition()))
      enter(emit, condition);
    StageAddress stage = addressStage(emit, kernel, op.getChannel(),
                                      getOptional(adaptor.getStage()),
                                      getOptional(adaptor.getBank()));
    // Other warps of the role may be behind by more than a phase.
    enterFirstWarp(emit, kernel.getThreads(op));
    emit.waitPhase(stage.empty, getOptional(adaptor.getPhase()));
    enterElected(emit, kernel.getThreads(op));
    fenceCopyOverLoads(emit, op);
    int64_t bytes = ShapedType::getNumElements(op.getSizes()) *
                    getElementBytes(op.getChannel().getType());
    Value barrier = emit.sharedPointer(stage.full);
    expectBytes(emit, barrier, emit.constant(bytes));
    if (isVectorInBulk(op))
      emitVectorCopy(op, adaptor, emit, stage.data, barrier, bytes);
    else
      emitCopy(op, adaptor, emit, stage.data, barrier);
    return {};
  }

private:
  /// A vector is one piece in memory and in the stage.
  void emitVectorCopy(PutOp op, Adaptor adaptor, Emitter &emit, Value data,
                      Value barrier, int64_t bytes) const {
    Value source =
        getAddress(emit.builder, emit.location, kernel, op.getSource(),
                   flatten(SmallVector<ValueRange>(adaptor.getOffsets())));
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        emit.builder, emit.location, clusterPointer(emit, data), source,
        barrier, emit.constant(bytes), /*multicastMask=*/Value(),
        emit.createCachePolicy(op.getCache()));
  }

  void emitCopy(PutOp op, Adaptor adaptor, Emitter &emit, Value data,
                Value barrier) const {
    const TensorMap &map = kernel.getTensorMap(op);
    int64_t sharers = getNumSharers(op.getChannel());
    Value part = addPart(emit, op, adaptor, data);
    SmallVector<Value> offsets =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    Value blocks;
    if (sharers > 1) {
      Value rank = NVVM::BlockInClusterIdXOp::create(
          emit.builder, emit.location, emit.builder.getI32Type());
      int64_t rows = map.box[map.row];
      part = emit.add(part, emit.multiply(rank, rows * map.swizzle));
      offsets[map.row] = emit.add(offsets[map.row], emit.multiply(rank, rows));
      blocks = arith::ConstantIntOp::create(emit.builder, emit.location,
                                            (1 << sharers) - 1, 16);
    }
    startCopy(emit, kernel, op,
              {offsets, getOptional(adaptor.getRows()), part, barrier, blocks});
  }

  /// Address of the part of a stage: panels of all rows, one after the other.
  static Value addPart(Emitter &emit, PutOp op, Adaptor adaptor, Value data) {
    if (op.getPart().empty())
      return data;
    ChannelType type = op.getChannel().getType();
    int64_t swizzle = type.getLayout().getSwizzle();
    SmallVector<Value> part =
        flatten(SmallVector<ValueRange>(adaptor.getPart()));
    Value inPanel = emit.multiply(part[0], swizzle);
    Value panel = emit.shiftRight(
        part[1], llvm::Log2_64(swizzle / getElementBytes(type)));
    Value before = emit.multiply(panel, type.getShape()[0] * swizzle);
    return emit.add(data, emit.add(inPanel, before));
  }
};

struct SendPattern : public LoweringPattern<SendOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(SendOp op, Adaptor adaptor, Emitter &emit) const override {
    StageAddress stage = addressStage(emit, kernel, op.getMail(),
                                      getOptional(adaptor.getStage()));
    OpBuilder::InsertionGuard guard(emit.builder);
    enterFirstWarp(emit, kernel.getThreads(op));
    emit.waitPhase(stage.empty, getOptional(adaptor.getPhase()));
    enterElected(emit, kernel.getThreads(op));
    SmallVector<Value> values =
        flatten(SmallVector<ValueRange>(adaptor.getValues()));
    for (auto [index, value] : llvm::enumerate(values))
      LLVM::StoreOp::create(
          emit.builder, emit.location, value,
          emit.sharedPointer(emit.add(stage.data, 4 * index)));
    emit.arrive(stage.full);
    return {};
  }
};

struct RecvPattern : public LoweringPattern<RecvOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(RecvOp op, Adaptor adaptor, Emitter &emit) const override {
    StageAddress stage = addressStage(emit, kernel, op.getMail(),
                                      getOptional(adaptor.getStage()));
    emit.waitPhase(stage.full, getOptional(adaptor.getPhase()));
    SmallVector<Value> loaded;
    for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
      loaded.push_back(LLVM::LoadOp::create(
          emit.builder, emit.location, type,
          emit.sharedPointer(emit.add(stage.data, 4 * index)), /*alignment=*/0,
          /*isVolatile=*/true));
    NVVM::SyncWarpOp::create(emit.builder, emit.location, emit.constant(-1));
    emit.arrive(stage.empty, kernel.getThreads(op).isWarpLeader);
    SmallVector<SmallVector<Value>> results;
    for (Value value : loaded)
      results.push_back({emit.firstLane(value)});
    return results;
  }
};

/// Turns are named barriers of two groups: the one that waits for its turn and
/// the one that passes it.
struct TakePattern : public LoweringPattern<TakeOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(TakeOp op, Adaptor adaptor, Emitter &emit) const override {
    auto turns = op.getTurns().getDefiningOp<TurnsOp>();
    auto role = op->getParentOfType<RoleOp>();
    Value barrier = emit.add(role.getGroup(), *turns.getBarrier());
    NVVM::BarrierOp::create(emit.builder, emit.location, TypeRange{}, barrier,
                            emit.constant(2 * role.getThreadsPerGroup()),
                            NVVM::BarrierReductionAttr(), Value());
    return {};
  }
};

struct PassPattern : public LoweringPattern<PassOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(PassOp op, Adaptor adaptor, Emitter &emit) const override {
    auto turns = op.getTurns().getDefiningOp<TurnsOp>();
    auto role = op->getParentOfType<RoleOp>();
    int64_t first = *turns.getBarrier(), groups = turns.getGroups();
    Value group = role.getGroup();
    Value next;
    if (groups == 2) {
      next = emit.subtract(emit.constant(first + 1), group);
    } else {
      Value isLast = emit.equal(group, emit.constant(groups - 1));
      next =
          emit.select(isLast, emit.constant(first), emit.add(group, first + 1));
    }
    NVVM::BarrierArriveOp::create(emit.builder, emit.location, next,
                                  emit.constant(2 * role.getThreadsPerGroup()));
    return {};
  }
};

} // namespace

void mlir::fagpu::populateChannelPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelContext &kernel) {
  patterns.add<AcquirePattern, ReleasePattern, PutPattern, SendPattern,
               RecvPattern, TakePattern, PassPattern>(
      converter, patterns.getContext(), kernel);
}
