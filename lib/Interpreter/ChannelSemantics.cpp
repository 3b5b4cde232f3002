//===- ChannelSemantics.cpp - Channels, what fills them, and views --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Boxes.h"
#include "Channels.h"
#include "GPUSemantics.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

static ChannelState &getChannel(Frame &frame, unsigned index) {
  return static_cast<ChannelState &>(*frame[index].object);
}

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
// Filling
//===----------------------------------------------------------------------===//

namespace {
/// What put and write have in common.
struct FillOperands {
  Operation *op;
  unsigned channel;
  std::optional<unsigned> bank;
  SmallVector<unsigned> part;
  StageOperands stage;
  /// Rows and columns of what is filled; one row for a vector.
  int64_t rows, columns;

  template <typename OpT>
  FillOperands(OpT op, ProgramBuilder &builder, ArrayRef<int64_t> shape)
      : op(op), channel(builder.getRegister(op.getChannel())),
        bank(getOptionalRegister(builder, op.getBank())),
        part(builder.getRegisters(op.getPart())),
        stage(getStageOperands(op, builder)),
        rows(shape.size() == 2 ? shape[0] : 1), columns(shape.back()) {}

  Part getPart(Frame &frame) const {
    Part result{0, 0, rows, columns};
    if (!part.empty())
      result.column = frame.integer(part.back());
    if (part.size() == 2)
      result.row = frame.integer(part.front());
    return result;
  }
};

/// A part of a stage that may be written.
struct FillTarget {
  ChannelState *channel;
  Stage *stage;
  Part part;

  Slot *getRow(int64_t row) const {
    return stage->data.data() + (part.row + row) * channel->getColumns() +
           part.column;
  }
};
} // namespace

static FailureOr<int64_t> getBank(Worker &worker, Operation *op, Frame &frame,
                                  const ChannelState &channel,
                                  std::optional<unsigned> bank) {
  int64_t number = getIntegerOr(frame, bank, 0);
  if (number >= 0 && number < channel.getNumBanks())
    return number;
  return worker.fail(op, "uses bank " + Twine(number) +
                             " of a channel that has " +
                             Twine(channel.getNumBanks()));
}

static LogicalResult checkPart(Worker &worker, Operation *op,
                               const ChannelState &channel, const Part &part) {
  if (part.row >= 0 && part.row + part.rows <= channel.getRows() &&
      part.column >= 0 && part.column + part.columns <= channel.getColumns())
    return success();
  return worker.fail(
      op, "fills " + Twine(part.rows) + "x" + Twine(part.columns) +
              " elements from row " + Twine(part.row) + ", column " +
              Twine(part.column) + " of a tile of " + Twine(channel.getRows()) +
              "x" + Twine(channel.getColumns()));
}

/// Waits until the stage of the next use is empty, and adds the part to it.
static FailureOr<FillTarget> fillNext(Worker &worker, Frame &frame,
                                      const FillOperands &operands) {
  Operation *op = operands.op;
  ChannelState &channel = getChannel(frame, operands.channel);
  FailureOr<int64_t> bank = getBank(worker, op, frame, channel, operands.bank);
  if (failed(bank))
    return failure();
  Part part = operands.getPart(frame);
  int64_t &filled = worker.filled[channel.getBankKey(*bank)];
  int64_t share =
      std::max<int64_t>(1, channel.getSize() / channel.getNumFillers());
  int64_t use = filled / share;
  filled += part.getNumElements();
  if (failed(checkPart(worker, op, channel, part)) ||
      failed(operands.stage.check(worker, op, frame, use, channel.getDepth(),
                                  /*isFiller=*/true)))
    return failure();
  std::string what = "stage " + std::to_string(use % channel.getDepth()) +
                     " of the channel of " + describePlace(channel.getOp()) +
                     " to be released, to fill it for use " +
                     std::to_string(use);
  if (failed(worker.waitUntil(op, what, [&channel, bank = *bank, use] {
        return channel.canFill(bank, use);
      })))
    return failure();
  if (failed(channel.claim(worker, op, *bank, use)))
    return failure();
  if (!channel.addPart(*bank, use, part, op))
    return worker.fail(op, "fills elements of use " + Twine(use) +
                               " that are filled already");
  worker.record(op, "filled use " + Twine(use) + " of the channel of " +
                        describePlace(channel.getOp()));
  return FillTarget{&channel, &channel.getStage(*bank, use), part};
}

/// A box of memory as rows and columns of a tile of this rank.
static SmallVector<int64_t> collapse(ArrayRef<int64_t> sizes, size_t rank) {
  if (rank == 1)
    return {getNumElements(sizes)};
  return {getNumElements(sizes.drop_back()), sizes.back()};
}

static LogicalResult compilePut(fagpu::PutOp op, ProgramBuilder &builder) {
  size_t tileRank = op.getChannel().getType().getShape().size();
  FillOperands operands(op, builder, collapse(op.getSizes(), tileRank));
  unsigned source = builder.getRegister(op.getSource());
  SmallVector<unsigned> offsets = builder.getRegisters(op.getOffsets());
  SmallVector<int64_t> sizes(op.getSizes());
  unsigned rowDim = getRowDim(sizes.size(), tileRank);
  std::optional<unsigned> rows = getOptionalRegister(builder, op.getRows());
  std::optional<unsigned> condition =
      getOptionalRegister(builder, op.getCondition());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    if (!getIntegerOr(frame, condition, 1))
      return success();
    FailureOr<FillTarget> target = fillNext(**worker, frame, operands);
    if (failed(target))
      return failure();
    Array &memory = frame.array(source);
    Box box{&memory, getIndices(frame, offsets), sizes, rowDim,
            getIntegerOr(frame, rows, memory.shape[rowDim])};
    int64_t columns = operands.columns;
    return visitBox(
        **worker, op, box, Access::Read,
        [&](int64_t first, int64_t count, Slot *elements, int64_t stride) {
          Slot *row = target->getRow(first / columns) + first % columns;
          for (int64_t i = 0; i < sizes.back(); ++i)
            row[i] = i < count ? elements[i * stride] : Slot::ofInteger(0);
        });
  });
  return success();
}

static LogicalResult compileWrite(fagpu::WriteOp op, ProgramBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  SmallVector<int64_t> shape(type.getShape());
  bool transposed = op.getTransposed() && shape.size() == 2;
  if (transposed)
    std::swap(shape[0], shape[1]);
  FillOperands operands(op, builder, shape);
  unsigned value = builder.getRegister(op.getValue());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    FailureOr<FillTarget> target = fillNext(**worker, frame, operands);
    if (failed(target))
      return failure();
    ArrayRefPtr array = packArray(frame.arrayRef(value));
    for (int64_t row = 0; row < operands.rows; ++row)
      for (int64_t column = 0; column < operands.columns; ++column)
        target->getRow(row)[column] =
            array->data()[transposed ? column * operands.rows + row
                                     : row * operands.columns + column];
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult compileAcquire(fagpu::AcquireOp op,
                                    ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getChannel());
  std::optional<unsigned> bankRegister =
      getOptionalRegister(builder, op.getBank());
  StageOperands stage = getStageOperands(op, builder);
  unsigned result = builder.getRegister(op.getView());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    ChannelState &channel = getChannel(frame, source);
    FailureOr<int64_t> bank =
        getBank(**worker, op, frame, channel, bankRegister);
    if (failed(bank))
      return failure();
    int64_t use = (*worker)->acquired[channel.getBankKey(*bank)]++;
    std::string what = "use " + std::to_string(use) + " of the channel of " +
                       describePlace(channel.getOp()) + " to be filled";
    if (failed(stage.check(**worker, op, frame, use, channel.getDepth(),
                           /*isFiller=*/false)) ||
        failed((*worker)->waitUntil(op, what, [&channel, bank = *bank, use] {
          return channel.isFull(bank, use);
        })))
      return failure();
    (*worker)->record(op, "acquired use " + Twine(use) + " of the channel of " +
                              describePlace(channel.getOp()));
    ViewRef view(new ViewValue());
    view->token = new ViewToken();
    view->token->channel = &channel;
    view->token->bank = *bank;
    view->token->use = use;
    view->token->acquire = op;
    view->part = {0, 0, channel.getRows(), channel.getColumns()};
    (*worker)->heldViews.push_back(view->token);
    frame[result].object = view;
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

/// A group is one worker here, so its warps have nobody to wait for.
static LogicalResult compileSync(fagpu::SyncOp op, ProgramBuilder &builder) {
  return success();
}

void interpreter::addChannelSemantics(Semantics &semantics) {
  semantics.add<fagpu::ChannelOp>(compileChannel);
  semantics.add<fagpu::PutOp>(compilePut);
  semantics.add<fagpu::WriteOp>(compileWrite);
  semantics.add<fagpu::AcquireOp>(compileAcquire);
  semantics.add<fagpu::ReleaseOp>(compileRelease);
  semantics.add<fagpu::SliceOp>(compileSlice);
  semantics.add<fagpu::SyncOp>(compileSync);
}
