//===- ChannelSemantics.cpp - Channels and views --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The consumer's side of channels: acquire waits until a stage is full,
// release gives it back, and views are refused once they may be overwritten.
// Read `waitForFiller`, then `acquire`; FillSemantics.cpp is the producer's
// side.
//
//===----------------------------------------------------------------------===//

#include "Channels.h"
#include "GPUSemantics.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

static LogicalResult compileChannel(fagpu::ChannelOp op,
                                    ProgramBuilder &builder) {
  std::optional<unsigned> over = getOptionalRegister(builder, op.getOver());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame, /*inRole=*/false);
    if (failed(worker))
      return failure();
    ChannelRef channel(
        new ChannelState(op, over ? &getChannel(frame, *over) : nullptr));
    (*worker)->getBlock().channels.push_back(channel);
    frame[result].object = channel;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

ChannelState &interpreter::getChannel(Frame &frame, unsigned index) {
  return static_cast<ChannelState &>(*frame[index].object);
}

FailureOr<int64_t> interpreter::getBank(Worker &worker, Operation *op,
                                        Frame &frame,
                                        const ChannelState &channel,
                                        std::optional<unsigned> bank) {
  int64_t number = getIntegerOr(frame, bank, 0);
  if (number >= 0 && number < channel.getNumBanks())
    return number;
  return worker.fail(op, "uses bank " + Twine(number) +
                             " of a channel that has " +
                             Twine(channel.getNumBanks()));
}

LogicalResult StageOperands::check(Worker &worker, Operation *op, Frame &frame,
                                   int64_t use, int64_t depth,
                                   bool isFiller) const {
  if (!stage)
    return success();
  int64_t expectedStage = use % depth;
  int64_t expectedPhase = ((use / depth) & 1) ^ isFiller;
  int64_t actualStage = frame.integer(*stage);
  int64_t actualPhase = frame.integer(*phase);
  if (actualStage == expectedStage && actualPhase == expectedPhase)
    return success();
  return worker.fail(
      op, "is given stage " + Twine(actualStage) + " and phase " +
              Twine(actualPhase) + ", but use " + Twine(use) + " is of stage " +
              Twine(expectedStage) + " and phase " + Twine(expectedPhase));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
struct AcquireOperands {
  fagpu::AcquireOp op;
  unsigned channel;
  std::optional<unsigned> bank;
  StageOperands stage;
  /// Copies that may stay in flight, where they are counted.
  std::optional<size_t> pending;
};
} // namespace

/// Waits for the copies of the group itself, all but the last `pending`.
static LogicalResult waitForCopies(Worker &worker, Operation *op,
                                   ChannelState &channel, int64_t bank,
                                   int64_t use, size_t pending) {
  for (; worker.copies.size() > pending; worker.copies.pop_front())
    worker.copies.front().arrive();
  // Those of other groups are there behind the barrier.
  if (channel.isFull(bank, use) || channel.getNumFillers() > 1)
    return success();
  return worker.fail(op, "with pending(" + Twine(pending) +
                             ") leaves in flight the copy of use " +
                             Twine(use) + " that it acquires");
}

/// Waits until another group has filled the stage.
static LogicalResult waitForFiller(Worker &worker, Operation *op,
                                   ChannelState &channel, int64_t bank,
                                   int64_t use) {
  std::string what = "use " + std::to_string(use) + " of the channel of " +
                     describePlace(channel.getOp()) + " to be filled";
  return worker.waitUntil(
      op, what, [&channel, bank, use] { return channel.isFull(bank, use); });
}

static FailureOr<ViewRef> acquire(Worker &worker, Frame &frame,
                                  const AcquireOperands &operands) {
  fagpu::AcquireOp op = operands.op;
  ChannelState &channel = getChannel(frame, operands.channel);
  FailureOr<int64_t> bank = getBank(worker, op, frame, channel, operands.bank);
  if (failed(bank))
    return failure();
  int64_t use = worker.acquired[channel.getBankKey(*bank)]++;
  if (failed(operands.stage.check(worker, op, frame, use, channel.getDepth(),
                                  /*isFiller=*/false)) ||
      failed(operands.pending ? waitForCopies(worker, op, channel, *bank, use,
                                              *operands.pending)
                              : waitForFiller(worker, op, channel, *bank, use)))
    return failure();
  worker.record(op, "acquired use " + Twine(use) + " of the channel of " +
                        describePlace(channel.getOp()));
  ViewRef view(new ViewValue());
  view->token = new ViewToken(ChannelRef(&channel), *bank, use, op);
  if (operands.pending)
    view->token->syncsAtAcquire = worker.numSyncs;
  view->part = {0, 0, channel.getRows(), channel.getColumns()};
  worker.heldViews.push_back(view->token);
  return view;
}

static LogicalResult compileAcquire(fagpu::AcquireOp op,
                                    ProgramBuilder &builder) {
  AcquireOperands operands{op, builder.getRegister(op.getChannel()),
                           getOptionalRegister(builder, op.getBank()),
                           getStageOperands(op, builder), std::nullopt};
  if (op.getPending())
    operands.pending = *op.getPending();
  unsigned result = builder.getRegister(op.getView());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    FailureOr<ViewRef> view = acquire(**worker, frame, operands);
    if (failed(view))
      return failure();
    frame[result].object = *view;
    return success();
  });
  return success();
}

/// Refuses to give back a stage twice or while a product reads it.
static LogicalResult checkRelease(Worker &worker, Operation *op,
                                  const ViewToken &token) {
  if (token.release)
    return worker.fail(op, "releases a stage that was released at " +
                               describePlace(token.release));
  for (const auto &product : worker.products)
    if (product->operands.reads(token))
      return worker.fail(op, "releases a stage that the product issued at " +
                                 describePlace(product->issue) +
                                 " still reads: it is not awaited");
  return success();
}

static LogicalResult compileRelease(fagpu::ReleaseOp op,
                                    ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getView());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    auto &view = static_cast<ViewValue &>(*frame[source].object);
    ViewToken &token = *view.token;
    if (failed(checkRelease(**worker, op, token)) ||
        failed((*worker)->step(op)))
      return failure();
    token.release = op;
    Stage &stage = token.channel->getStage(token.bank, token.use);
    stage.release = op;
    stage.syncsAtRelease = (*worker)->numSyncs;
    token.channel->release(token.bank, token.use);
    llvm::erase_if((*worker)->heldViews,
                   [&](const auto &held) { return held.get() == &token; });
    (*worker)->record(op, "released use " + Twine(token.use) +
                              " of the channel of " +
                              describePlace(token.channel->getOp()));
    return success();
  });
  return success();
}

static LogicalResult compileSlice(fagpu::SliceOp op, ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getView());
  SmallVector<unsigned> offsets = builder.getRegisters(op.getOffsets());
  unsigned result = builder.getRegister(op.getResult());
  fagpu::ViewType type = op.getType();
  SmallVector<int64_t> shape(type.getShape());
  int64_t panel = type.getLayout().getSwizzle() * 8 /
                  type.getElementType().getIntOrFloatBitWidth();
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    auto &whole = static_cast<ViewValue &>(*frame[source].object);
    SmallVector<int64_t> at = getIndices(frame, offsets);
    int64_t row = at.size() == 2 ? at[0] : 0, column = at.back();
    int64_t rows = shape.size() == 2 ? shape[0] : 1, columns = shape.back();
    if (row < 0 || row + rows > whole.part.rows || column < 0 ||
        column + columns > whole.part.columns)
      return (*worker)->fail(op, "takes " + Twine(rows) + "x" + Twine(columns) +
                                     " elements from row " + Twine(row) +
                                     ", column " + Twine(column) +
                                     " of a view of " + Twine(whole.part.rows) +
                                     "x" + Twine(whole.part.columns));
    if (row % 8 != 0 || (panel && column % panel != 0))
      return (*worker)->fail(op, "starts at row " + Twine(row) + ", column " +
                                     Twine(column) +
                                     ", expected a row that is a multiple of 8 "
                                     "and the first column of a panel");
    ViewRef view(new ViewValue());
    view->token = whole.token;
    view->part = {whole.part.row + row, whole.part.column + column, rows,
                  columns};
    frame[result].object = view;
    return success();
  });
  return success();
}

/// The warps of a group are one worker here; what they may not do before a
/// barrier is checked.
static LogicalResult compileSync(fagpu::SyncOp op, ProgramBuilder &builder) {
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    return (*worker)->synchronize(op);
  });
  return success();
}

/// Of what the assembler does there is nothing here.
static LogicalResult compileScheduleBarrier(fagpu::ScheduleBarrierOp op,
                                            ProgramBuilder &builder) {
  return success();
}

void interpreter::addChannelSemantics(Semantics &semantics) {
  semantics.add<fagpu::ChannelOp>(compileChannel);
  semantics.add<fagpu::AcquireOp>(compileAcquire);
  semantics.add<fagpu::ReleaseOp>(compileRelease);
  semantics.add<fagpu::SliceOp>(compileSlice);
  semantics.add<fagpu::SyncOp>(compileSync);
  semantics.add<fagpu::ScheduleBarrierOp>(compileScheduleBarrier);
}
