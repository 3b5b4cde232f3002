//===- VerifyHasLowering.cpp - What the conversion can lower --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that has no lowering, whatever the plan, is refused here: a
// pattern that does not match can only say that there is none. fagpu-check
// asks this of a text, and the conversion once more before it rewrites
// anything. Read `verifyHasLowering`, at the end, then `verifyOperation`.
//
//===----------------------------------------------------------------------===//

#include "ColumnBound.h"
#include "KernelContext.h"
#include "SharedTile.h"
#include "ThreadLoops.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Until they are inlined, calls take what the callee uses.
static bool isCall(Operation *op) { return isa<func::CallOp>(op); }

/// Each use is of a resource of the kernel.
static LogicalResult verifyResource(Operation *op, Value resource) {
  if (isa_and_nonnull<ChannelOp, MailOp, TurnsOp>(resource.getDefiningOp()))
    return success();
  return op->emitOpError() << "uses a value that is not made by "
                              "'fagpu.channel', 'fagpu.mail' or 'fagpu.turns'"
                              " in the kernel";
}

/// The threads of a group would all copy, or send, the same.
static LogicalResult verifyElected(Operation *op, StringRef what) {
  auto role = op->getParentOfType<RoleOp>();
  if (role.getElect())
    return success();
  return op->emitOpError() << what << " in @" << role.getSymName()
                           << ", a role of " << role.getThreadsPerGroup()
                           << " threads, expected a role with 'elect'";
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static constexpr StringLiteral expectedTile =
    ", expected 16-bit elements and a swizzle of 32, 64 or 128 bytes";

static LogicalResult verifyTile(Operation *op, StringRef what, Type tile) {
  Type element;
  SharedLayoutAttr layout;
  if (auto channel = dyn_cast<ChannelType>(tile)) {
    element = channel.getElementType();
    layout = channel.getLayout();
  } else {
    element = cast<ViewType>(tile).getElementType();
    layout = cast<ViewType>(tile).getLayout();
  }
  if (SharedTile::isSupported(element, layout))
    return success();
  return op->emitOpError() << what << " " << tile << expectedTile;
}

/// Warps share the copies of a role, which has one thread for all else. So it
/// gives no stage back: some of them may still be at work.
static LogicalResult verifySharedCopies(PutOp op) {
  if (failed(verifyElected(op, "copies rows in pages")))
    return failure();
  if (!op->getParentOfType<RoleOp>()
           .walk([](AcquireOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    return success();
  return op.emitOpError() << "copies rows in pages by all warps of a role that "
                             "acquires a stage; expected roles of their own";
}

/// As boxes, by maps of the pool.
static LogicalResult verifyPageBoxes(PutOp op) {
  // A lane looks one box up.
  constexpr int64_t lanes = 32;
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (channel.getMulticast())
    return op.emitOpError() << "copies pages to a channel that all blocks of a "
                               "cluster fill, expected one without 'multicast'";
  int64_t count = PageBoxes(op).count;
  int64_t warps = op->getParentOfType<RoleOp>().getWarps();
  if (PageBoxes(op).getPerWarp(warps) > lanes)
    return op.emitOpError()
           << "copies " << count << " boxes of pages by " << warps
           << " warps, expected at most " << lanes * warps;
  for (Operation *user : channel->getUsers())
    if (auto other = dyn_cast<PutOp>(user))
      if (!other.getPages() || PageBoxes(other).count != count)
        return other.emitOpError()
               << "fills a channel that another 'fagpu.put' fills with "
               << count << " boxes of pages, expected as many";
  if (failed(verifySource(op, op.getPages())) || failed(makeTensorMap(op)))
    return failure();
  return verifySharedCopies(op);
}

/// Lanes copy chunks of 16 bytes, found by its strides alone.
static LogicalResult verifyPagesOfPut(PutOp op) {
  ViewType tile = op.getChannel().getType().getView();
  if (op.getChannel().getDefiningOp<ChannelOp>().getEngine() == Engine::tma)
    return verifyPageBoxes(op);
  if (failed(verifySource(op, op.getSource())) ||
      failed(verifySource(op, op.getPages())) ||
      failed(verifyTile(op, "copies rows in pages to", tile)))
    return failure();
  if (cast<MemRefType>(op.getSource().getType())
          .getStridesAndOffset()
          .first.back() != 1)
    return op.emitOpError() << "copies rows of " << op.getSource().getType()
                            << ", whose columns are not side by side; expected "
                               "a stride of 1 in the last dimension";
  int64_t rows = tile.getShape()[0];
  ColumnBound bound(op.getColumns(), op.getOffsets().back());
  if (rows % 16 || !bound.isMultipleOf(Panels::chunkColumns))
    return op.emitOpError()
           << "copies " << rows << " rows in pages"
           << (rows % 16 ? "" : " of columns that end inside 16 bytes")
           << ", expected a multiple of 16 rows and of " << Panels::chunkColumns
           << " columns";
  return verifySharedCopies(op);
}

static LogicalResult verifyPut(PutOp op) {
  if (failed(verifyResource(op, op.getChannel())))
    return failure();
  if (isCopiedByThreads(op.getChannel()))
    return verifyCopiedTile(op);
  if (op.getPages())
    return verifyPagesOfPut(op);
  if (isVectorInBulk(op)) {
    if (failed(verifySource(op, op.getSource())))
      return failure();
    return verifyElected(op, "copies in bulk");
  }
  bool hasMap = succeeded(makeTensorMap(op));
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  return hasMap && channel.getEngine() == Engine::tma
             ? verifyElected(op, "copies in bulk")
             : success(hasMap);
}

/// A release arrives at the barriers of all blocks that fill the stage.
static LogicalResult verifyMulticast(AcquireOp op) {
  if (getNumSharers(op.getChannel()) == 1)
    return success();
  if (op->getParentOfType<RoleOp>().getElect())
    return op.emitOpError() << "acquires a stage that all blocks of a cluster "
                               "fill in a role of one thread, expected warps";
  if (llvm::any_of(op.getView().getUsers(), llvm::IsaPred<ReleaseOp>) ||
      llvm::any_of(op.getView().getUsers(), isCall))
    return success();
  return op.emitOpError() << "acquires a stage that all blocks of a cluster "
                             "fill and that is released in another iteration, "
                             "expected 'fagpu.release' in the same block";
}

static LogicalResult verifyAcquire(AcquireOp op) {
  if (failed(verifyResource(op, op.getChannel())))
    return failure();
  return verifyMulticast(op);
}

static LogicalResult verifySlice(SliceOp op) {
  if (failed(verifyTile(op, "takes a part of", op.getView().getType())))
    return failure();
  if (op.getType().getShape().size() != 2)
    return op.emitOpError() << "takes a part of " << op.getView().getType()
                            << ", expected a matrix";
  // Who reads a slice looks up the whole by its operations.
  for (Operation *user : op->getUsers())
    if (!isa<MmaAsyncOp, MmaOp, MmaSumOp, LoadOp, SliceOp>(user) &&
        !isCall(user))
      return op.emitOpError()
             << "is used by '" << user->getName()
             << "', expected 'fagpu.mma_async', 'fagpu.mma', 'fagpu.mma_sum', "
                "'fagpu.load' or 'fagpu.slice'";
  return success();
}

/// The 16 rows of each warp become columns of one panel.
static LogicalResult verifyTransposed(Operation *op, StringRef verb,
                                      RankedTensorType type,
                                      SharedLayoutAttr layout) {
  int64_t warps = getBlockLayout(type).getWarps();
  int64_t most = Panels(layout).getColumns() / 16;
  if (warps <= most)
    return success();
  return op->emitOpError() << verb << " a transposed value of " << warps
                           << " warps, expected at most " << most;
}

static LogicalResult verifyLoad(LoadOp op) {
  ViewType view = op.getView().getType();
  auto type = cast<RankedTensorType>(op.getType());
  // A vector of fragments is plain memory, and its result has been verified.
  if (type.getRank() == 1) {
    if (view.getLayout().getSwizzle() ||
        type.getElementType().getIntOrFloatBitWidth() != 32)
      return op.emitOpError()
             << "reads a vector from " << view
             << ", expected 32-bit elements and #fagpu.smem<0>";
  } else if (!op.getFragments()) {
    if (failed(verifyTile(op, "reads", view)))
      return failure();
    if (!isa<AccumulatorLayoutAttr, OperandLayoutAttr>(type.getEncoding()))
      return op.emitOpError()
             << "reads a matrix into layout " << type.getEncoding()
             << ", expected #fagpu.acc or #fagpu.opa";
    if (isTransposed(op) &&
        failed(verifyTransposed(op, "reads", type, view.getLayout())))
      return failure();
  }
  // There the plan has seen that every warp has to free the stage.
  Value whole = getWholeView(op.getView());
  if (!whole.getDefiningOp<AcquireOp>() ||
      (llvm::none_of(whole.getUsers(), llvm::IsaPred<ReleaseOp>) &&
       llvm::none_of(whole.getUsers(), isCall)))
    return op.emitOpError() << "reads a view that is not acquired and released "
                               "in one block, expected both beside the load";
  return success();
}

static LogicalResult verifyWrite(WriteOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  ChannelType channel = op.getChannel().getType();
  // Floats are written in pairs, for a bulk store to read.
  bool isFloat = channel.getElementType().isF32() &&
                 channel.getLayout().getSwizzle() && !op.getTransposed();
  if (failed(verifyResource(op, op.getChannel())) ||
      (!isFloat && failed(verifyTile(op, "writes to", channel))))
    return failure();
  if (!isa<AccumulatorLayoutAttr>(type.getEncoding()))
    return op.emitOpError() << "writes a value of layout " << type.getEncoding()
                            << ", expected #fagpu.acc";
  if (op.getTransposed() && isCopiedByThreads(op.getChannel()))
    return op.emitOpError() << "writes a transposed value to a channel of the "
                               "engine 'cp_async', expected 'threads'";
  return op.getTransposed()
             ? verifyTransposed(op, "writes", type, channel.getLayout())
             : success();
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Threads store the rows of a value along one dimension, or two; those of a
/// transposed one along one.
static LogicalResult verifyRowsOfStore(StoreOp op) {
  SmallVector<int64_t> box = op.getBox(), tile = op.getTile();
  ArrayRef<int64_t> ofRows = ArrayRef(box).drop_back(tile.size() - 1);
  auto dims = llvm::count_if(ofRows, [](int64_t size) { return size > 1; });
  int64_t most = op.getTransposed() ? 1 : 2;
  if (dims <= most && (tile.size() == 1 || box.back() == tile.back()))
    return success();
  return op.emitOpError()
         << "stores " << tile.front() << " rows along " << dims
         << " dimensions by threads, expected at most " << most
         << "; on sm_90a a channel of the engine tma_store takes "
            "several";
}

static LogicalResult verifyStagedStore(StoreOp op, RankedTensorType type) {
  auto via = op.getVia().getDefiningOp<ChannelOp>();
  if (failed(verifyResource(op, op.getVia())))
    return failure();
  if (op.getFragments())
    return verifySource(op, op.getDestination());
  ChannelType tile = op.getVia().getType();
  // Floats are staged in pairs, for a bulk store to read.
  bool isFloat = tile.getElementType().isF32() &&
                 tile.getLayout().getSwizzle() && !op.getTransposed() &&
                 via.getEngine() == Engine::tma_store;
  if (!isFloat && failed(verifyTile(op, "stages in", tile)))
    return failure();
  if (!isa<AccumulatorLayoutAttr>(type.getEncoding()))
    return op.emitOpError() << "stages a value of layout " << type.getEncoding()
                            << ", expected #fagpu.acc";
  if (op.getTransposed() &&
      failed(verifyTransposed(op, "stages", type, tile.getLayout())))
    return failure();
  if (via.getEngine() == Engine::tma_store)
    return success(succeeded(makeTensorMap(op)));
  return verifyRowsOfStore(op);
}

static LogicalResult verifyStore(StoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (op.getVia())
    return verifyStagedStore(op, type);
  if (op.getFragments())
    return verifySource(op, op.getDestination());
  bool isF32 = type.getElementType().isF32();
  if (op.getTransposed() && !isF32)
    return op.emitOpError() << "is transposed, expected f32, or via(...) a "
                               "channel of the engine 'tma_store'";
  if (isa<AccumulatorLayoutAttr>(type.getEncoding()) &&
      (isF32 || isPackedElement(type.getElementType())))
    return verifyRowsOfStore(op);
  if (!isa<RowLayoutAttr>(type.getEncoding()) || !isF32)
    return op.emitOpError() << "stores " << type
                            << " from registers, expected f32, f16 or bf16 in "
                               "#fagpu.acc, or f32 in #fagpu.row";
  return verifyRowsOfStore(op);
}

static LogicalResult verifyDrain(DrainOp op) {
  if (!op.getView().getDefiningOp<AcquireOp>())
    return op.emitOpError() << "stores a part of a view in bulk, expected all "
                               "of what 'fagpu.acquire' gives";
  Type element = op.getView().getType().getElementType();
  if (op.getAdd() && !element.isF32() && !isPackedElement(element))
    return op.emitOpError() << "adds elements of " << element
                            << " in bulk, expected f32, f16 or bf16";
  return success(succeeded(makeTensorMap(op)));
}

static LogicalResult verifyProduct(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto view = dyn_cast<ViewType>(operand.getType()))
      if (failed(verifyTile(op, "multiplies", view)))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// The dynamic size of an argument is a parameter of its own.
static LogicalResult verifySize(memref::DimOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getSource());
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return success();
  auto type = cast<MemRefType>(argument.getType());
  std::optional<int64_t> dim = op.getConstantIndex();
  if (dim && *dim >= 0 && *dim < type.getRank())
    return success();
  InFlightDiagnostic error = op.emitOpError() << "reads the size of ";
  if (dim)
    error << "dimension " << *dim;
  else
    error << "a dimension that is no constant";
  return error << " of " << type << ", expected 0 to " << type.getRank() - 1;
}

static LogicalResult verifyOperation(Operation *op) {
  if (!isExpressedOnDevice(op))
    return emitNotOnDevice(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](PutOp op) { return verifyPut(op); })
      .Case([](AcquireOp op) { return verifyAcquire(op); })
      .Case([](SliceOp op) { return verifySlice(op); })
      .Case([](LoadOp op) { return verifyLoad(op); })
      .Case([](WriteOp op) { return verifyWrite(op); })
      .Case([](StoreOp op) { return verifyStore(op); })
      .Case([](DrainOp op) { return verifyDrain(op); })
      .Case([](SendOp op) {
        if (failed(verifyResource(op, op.getMail())))
          return failure();
        return verifyElected(op, "sends");
      })
      .Case([](RecvOp op) { return verifyResource(op, op.getMail()); })
      .Case<TakeOp, PassOp>(
          [](auto op) { return verifyResource(op, op.getTurns()); })
      .Case<MmaAsyncOp, MmaOp, MmaSumOp>(
          [](Operation *op) { return verifyProduct(op); })
      .Case([](GatherOp op) { return verifyGather(op); })
      .Case(
          [](ScatterAddOp op) { return verifySource(op, op.getDestination()); })
      .Case([](ExtremesOp op) { return verifySource(op, op.getSource()); })
      .Case([](scf::ParallelOp op) { return verifyThreadLoop(op); })
      .Case<vector::LoadOp, vector::StoreOp>(
          [](auto op) { return verifyThreadVector(op, op.getVectorType()); })
      .Case([](memref::DimOp op) { return verifySize(op); })
      .Case([](memref::GetGlobalOp op) { return verifyTable(op); })
      .Case<FetchOp, ProductOp>([](auto op) {
        return op.emitOpError() << "does not say how operands reach the "
                                   "threads; run fagpu-form-channels before";
      })
      .Case<WaitOp, ForOp, RepeatOp, YieldOp, ReduceOp, AnyOp, IotaOp,
            DropoutOp, ReleaseOp, SyncOp, ScheduleBarrierOp, TicketOp, RetireOp,
            RoleOp, ChannelOp, MailOp, TurnsOp, AwaitPreviousOp,
            ReleaseDependentsOp, func::CallOp>(
          [](Operation *) { return success(); })
      .Default([](Operation *op) { return verifyBlockOperation(op); });
}

/// The warps of a role run it, apart from what a kernel says of its roles; what
/// is the host's has no lowering in any place.
static LogicalResult verifyPlace(Operation *op) {
  if (!isa_and_nonnull<FAGPUDialect>(op->getDialect()) ||
      isa<RoleOp, ChannelOp, MailOp, TurnsOp, AwaitPreviousOp,
          ReleaseDependentsOp, LaunchOp, CounterOp, WorkspaceOp,
          MultiprocessorsOp>(op))
    return success();
  return verifyInRole(op);
}

static bool addsToMemory(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getAdd();
  if (auto drain = dyn_cast<DrainOp>(op))
    return drain.getAdd();
  return isa<ScatterAddOp>(op);
}

/// Nothing orders additions with other accesses of one launch.
static LogicalResult verifyAddedMemory(BlockArgument argument) {
  auto users = argument.getUsers();
  auto addition = llvm::find_if(users, addsToMemory);
  if (addition == users.end())
    return success();
  for (Operation *user : users)
    if (!addsToMemory(user) && !isa<memref::DimOp>(user) && !isCall(user))
      return user->emitOpError()
             << "uses memory of the kernel, argument "
             << argument.getArgNumber() << ", that '" << addition->getName()
             << "' (" << describePlace(*addition)
             << ") adds to: nothing orders the two; expected additions alone";
  return success();
}

/// Memory is known by its parameters, which only some operations look up.
static LogicalResult verifyMemory(func::FuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments()) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    if (failed(verifyAddedMemory(argument)))
      return failure();
    for (Operation *user : argument.getUsers())
      if (!isa<memref::LoadOp, memref::StoreOp, memref::DimOp, PutOp, StoreOp,
               DrainOp, FetchOp, GatherOp, ScatterAddOp, ExtremesOp, TicketOp,
               RetireOp, vector::LoadOp, vector::StoreOp, func::CallOp>(user))
        return user->emitOpError()
               << "uses memory of the kernel, argument "
               << argument.getArgNumber()
               << ", expected memref.load, memref.store, memref.dim, "
                  "vector.load, vector.store, fagpu.put, "
                  "fagpu.store, fagpu.gather, fagpu.scatter_add, "
                  "fagpu.extremes, fagpu.ticket or fagpu.retire";
  }
  return success();
}

LogicalResult mlir::fagpu::verifyHasLowering(func::FuncOp kernel) {
  if (!llvm::hasSingleElement(kernel.getBody()))
    return kernel.emitError("has several blocks, expected one: roles are "
                            "lowered before control flow");
  if (kernel.getOps<RoleOp>().empty())
    return kernel.emitOpError() << "has no 'fagpu.role'";
  if (failed(verifyMemory(kernel)))
    return failure();
  return failure(kernel
                     .walk<WalkOrder::PreOrder>([](Operation *op) {
                       return failed(verifyPlace(op))
                                  ? WalkResult::interrupt()
                                  : WalkResult(verifyOperation(op));
                     })
                     .wasInterrupted());
}
