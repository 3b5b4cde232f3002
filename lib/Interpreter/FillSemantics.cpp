//===- FillSemantics.cpp - What fills channels ----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The producer's side of channels: put copies a box of memory to a stage,
// write stores a block value there. Both wait until the stage is empty. Read
// `fillNext`, which they share, then `compilePut` and `compileWrite`.
//
//===----------------------------------------------------------------------===//

#include "Boxes.h"
#include "Channels.h"
#include "GPUSemantics.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

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
  int64_t bank, use;
  Part part;

  Slot *getRow(int64_t row) const {
    return channel->getStage(bank, use).data.data() +
           (part.row + row) * channel->getColumns() + part.column;
  }
  /// The part is there, for a copy that nobody counts and for a write.
  void arrive() const { channel->arrive(bank, use, part.getNumElements()); }
};
} // namespace

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

/// What is planned of a write: whether its warps wait for the stage before, and
/// arrive behind it.
static LogicalResult checkPlan(Worker &worker, Operation *op, int64_t before,
                               int64_t after, int64_t share) {
  auto write = dyn_cast<fagpu::WriteOp>(op);
  if (!write || !write.getStage())
    return success();
  if (write.getContinues() != (before % share != 0))
    return worker.fail(op, write.getContinues()
                               ? "continues a stage of which nothing is written"
                               : "does not continue a stage of which a part is "
                                 "written");
  if (write.getUnfinished() != (after % share != 0))
    return worker.fail(op, write.getUnfinished()
                               ? "leaves a stage unfinished that it fills up"
                               : "finishes a stage of which a part is missing");
  return success();
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
  if (failed(checkPlan(worker, op, filled - part.getNumElements(), filled,
                       share)) ||
      failed(checkPart(worker, op, channel, part)) ||
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
  return FillTarget{&channel, *bank, use, part};
}

/// A box of memory as rows and columns of a tile of this rank.
static SmallVector<int64_t> collapse(ArrayRef<int64_t> sizes, size_t rank) {
  if (rank == 1)
    return {getNumElements(sizes)};
  return {getNumElements(sizes.drop_back()), sizes.back()};
}

namespace {
/// The table that a put finds its rows by.
struct PageTable {
  unsigned table;
  int64_t pageDim;
  /// Rows that each copy takes of one page.
  int64_t boxRows;
};

/// A row of a box in pages: the box of it in its page. Nothing where there is
/// no such page.
std::optional<Box> getRowInPage(const Box &rows, int64_t row,
                                const Array &table, int64_t pageDim) {
  Box box = rows;
  int64_t sequence = rows.offsets[pageDim],
          key = rows.offsets[rows.rowDim] + row;
  int64_t pageRows = rows.memory->shape[rows.rowDim];
  if (key < 0 || key >= rows.limit || pageRows == 0 || table.shape[1] == 0)
    return std::nullopt;
  int64_t column = std::min(key / pageRows, table.shape[1] - 1);
  int64_t page =
      table.data()[sequence * table.strides[0] + column * table.strides[1]]
          .integer;
  if (page < 0 || page >= rows.memory->shape[pageDim])
    return std::nullopt;
  box.offsets[pageDim] = page;
  box.offsets[rows.rowDim] = key % pageRows;
  box.sizes[rows.rowDim] = 1;
  box.limit = pageRows;
  return box;
}
} // namespace

static LogicalResult compilePut(fagpu::PutOp op, ProgramBuilder &builder) {
  size_t tileRank = op.getChannel().getType().getShape().size();
  FillOperands operands(op, builder, collapse(op.getSizes(), tileRank));
  unsigned source = builder.getRegister(op.getSource());
  SmallVector<unsigned> offsets = builder.getRegisters(op.getOffsets());
  SmallVector<int64_t> sizes(op.getSizes());
  unsigned rowDim = op.getRowDim();
  std::optional<unsigned> rows = getOptionalRegister(builder, op.getRows());
  std::optional<unsigned> columnLimit =
      getOptionalRegister(builder, op.getColumns());
  std::optional<unsigned> condition =
      getOptionalRegister(builder, op.getCondition());
  bool padded = op.getPadded();
  std::optional<PageTable> pages;
  if (Value table = op.getPages())
    pages = {builder.getRegister(table), static_cast<int64_t>(*op.getPageDim()),
             /*boxRows=*/1};
  auto made = op.getChannel().getDefiningOp<fagpu::ChannelOp>();
  if (pages && made && made.getEngine() == fagpu::Engine::tma)
    pages->boxRows = fagpu::PageBoxes(op).rows;
  bool isMulticast = made && made.getMulticast();
  // A vector is copied in bulk without a tensor map, which would bound it.
  bool isPiece =
      tileRank == 1 && made && made.getEngine() == fagpu::Engine::tma;
  Type element = op.getChannel().getType().getElementType();
  Slot outside = fagpu::fillsNaN(op)
                     ? Slot::ofReal(std::numeric_limits<double>::quiet_NaN())
                     : Slot::ofInteger(0);
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    bool isCounted = getChannel(frame, operands.channel).countsCopies();
    if (!getIntegerOr(frame, condition, 1)) {
      if (isCounted)
        (*worker)->copies.emplace_back();
      return success();
    }
    FailureOr<FillTarget> target = fillNext(**worker, frame, operands);
    if (failed(target))
      return failure();
    Array &memory = frame.array(source);
    Box box{&memory, getIndices(frame, offsets), sizes, rowDim,
            getIntegerOr(frame, rows, memory.shape[rowDim])};
    if (columnLimit)
      box.columnLimit = frame.integer(*columnLimit);
    box.padded = padded;
    if (isPiece) {
      box = Box::ofPiece(memory, box.offsets, sizes);
      if (failed(checkPiece(**worker, op, box, element)))
        return failure();
    }
    if (isMulticast && failed((*worker)->getBlock().getGrid().sharedBoxes.add(
                           **worker, op, target->channel->getOp(), target->bank,
                           target->use, box)))
      return failure();
    if (isCounted)
      (*worker)->copies.push_back({ChannelRef(target->channel), target->bank,
                                   target->use, target->part.getNumElements()});
    else
      target->arrive();
    int64_t columns = operands.columns;
    auto fill = [&](int64_t first, int64_t count, Slot *elements,
                    int64_t stride) {
      Slot *row = target->getRow(first / columns) + first % columns;
      for (int64_t i = 0; i < sizes.back(); ++i)
        row[i] = i < count ? elements[i * stride] : outside;
    };
    if (!pages)
      return visitBox(**worker, op, box, Access::Read, fill);
    const Array &table = frame.array(pages->table);
    if (int64_t sequence = box.offsets[pages->pageDim];
        sequence < 0 || sequence >= table.shape[0])
      return (*worker)->fail(op, "reads row " + Twine(sequence) +
                                     " of a table of pages, which has " +
                                     Twine(table.shape[0]));
    // Of no keys nothing is copied.
    if (int64_t key = box.offsets[rowDim];
        key < box.limit && key % pages->boxRows)
      return (*worker)->fail(op, "copies boxes of " + Twine(pages->boxRows) +
                                     " rows of a page from key " + Twine(key) +
                                     " on, which is none that a box begins "
                                     "with");
    for (int64_t row = 0; row < operands.rows; ++row) {
      std::optional<Box> inPage = getRowInPage(box, row, table, pages->pageDim);
      if (!inPage) {
        fill(row * columns, 0, nullptr, 1);
        continue;
      }
      if (failed(visitBox(
              **worker, op, *inPage, Access::Read,
              [&](int64_t, int64_t count, Slot *elements, int64_t stride) {
                fill(row * columns, count, elements, stride);
              })))
        return failure();
    }
    return success();
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
    if (getChannel(frame, operands.channel).countsCopies())
      (*worker)->copies.push_back({ChannelRef(target->channel), target->bank,
                                   target->use, target->part.getNumElements()});
    else
      target->arrive();
    return success();
  });
  return success();
}

void interpreter::addFillSemantics(Semantics &semantics) {
  semantics.add<fagpu::PutOp>(compilePut);
  semantics.add<fagpu::WriteOp>(compileWrite);
}
