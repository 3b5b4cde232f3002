//===- StoreSemantics.cpp - Stores to global memory -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store of a block to memory: by threads, staged for a bulk copy, or as an
// addition. `compileStore` makes a program of fagpu.store, `compileDrain` of
// fagpu.drain. `Destination` says where a tile is in memory. `stageValue`
// claims the bank of a group, and refuses one that another group stores
// through.
//
//===----------------------------------------------------------------------===//

#include "Boxes.h"
#include "Channels.h"
#include "GPUSemantics.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

namespace {
/// Where a tile goes: sizes of its box, and the dimension of its rows.
struct Destination {
  unsigned memory;
  SmallVector<unsigned> offsets;
  SmallVector<int64_t> sizes;
  unsigned rowDim;
  std::optional<unsigned> rows, columns;
  bool padded;
  /// One piece of the last dimension, without bounds.
  bool isPiece = false;

  template <typename OpTy>
  Destination(OpTy op, ProgramBuilder &builder, Value columns, bool padded)
      : memory(builder.getRegister(op.getDestination())),
        offsets(builder.getRegisters(op.getOffsets())), sizes(op.getBox()),
        rowDim(op.getRowDim()),
        rows(getOptionalRegister(builder, op.getRows())),
        columns(getOptionalRegister(builder, columns)), padded(padded) {}

  Box getBox(Frame &frame) const {
    Array &array = frame.array(memory);
    if (isPiece)
      return Box::ofPiece(array, getIndices(frame, offsets), sizes);
    Box box{&array, getIndices(frame, offsets), sizes, rowDim,
            getIntegerOr(frame, rows, array.shape[rowDim])};
    box.padded = padded;
    if (columns)
      box.columnLimit = frame.integer(*columns);
    return box;
  }
};
} // namespace

/// An addition in memory, rounded to its elements.
static void addTo(Slot &target, const Slot &value, FloatType type,
                  const NumberPolicy &policy) {
  target.real += value.real;
  policy.round(type, &target, 1);
}

//===----------------------------------------------------------------------===//
// Block values
//===----------------------------------------------------------------------===//

/// A group stages its value in its own bank and may do so again when the store
/// before has read it; nothing orders two groups in one bank.
static LogicalResult stageValue(Worker &worker, Operation *op,
                                ChannelState &channel, int64_t bank) {
  if (bank < 0 || bank >= channel.getNumBanks())
    return worker.fail(op, "uses bank " + Twine(bank) +
                               " of a channel that has " +
                               Twine(channel.getNumBanks()));
  Worker *&storer = channel.getStage(bank, 0).storer;
  if (!storer)
    storer = &worker;
  if (storer != &worker)
    return worker.fail(op, "stores through bank " + Twine(bank) +
                               " of the channel of " +
                               describePlace(channel.getOp()) + ", as does " +
                               storer->getName() + ": nothing orders the two");
  return channel.claim(worker, op, bank, 0);
}

/// The element of the value, by its row-major number, at each place of its tile
/// in memory.
static FailureOr<SmallVector<int64_t>> getOrder(fagpu::StoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (op.getFragments()) {
    if (!fagpu::getBlockLayout(type))
      return refuse(op, "without a layout; fagpu-infer-layouts gives it one");
    return fagpu::getFragmentOrder(type, op.getByWords() ? 1 : 4);
  }
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(type.getNumElements()));
  if (op.getTransposed())
    for (auto [place, element] : llvm::enumerate(order))
      element = place % type.getDimSize(0) * type.getDimSize(1) +
                place / type.getDimSize(0);
  return order;
}

static LogicalResult compileStore(fagpu::StoreOp op, ProgramBuilder &builder) {
  Destination destination(op, builder, op.getColumns(), op.getPadded());
  destination.isPiece = op.getFragments();
  FailureOr<SmallVector<int64_t>> found = getOrder(op);
  if (failed(found))
    return failure();
  SmallVector<int64_t> order = *found;
  Type element = getElementTypeOrSelf(op.getValue().getType());
  auto real = dyn_cast<FloatType>(element);
  bool adds = op.getAdd();
  const NumberPolicy &policy = builder.getPolicy();
  unsigned source = builder.getRegister(op.getValue());
  std::optional<unsigned> via = getOptionalRegister(builder, op.getVia());
  std::optional<unsigned> bank = getOptionalRegister(builder, op.getBank());
  builder.emit([=, &policy](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker) || failed((*worker)->step(op)))
      return failure();
    if (via &&
        failed(stageValue(**worker, op,
                          static_cast<ChannelState &>(*frame[*via].object),
                          getIntegerOr(frame, bank, 0))))
      return failure();
    (*worker)->record(op, "stored");
    ArrayRefPtr value = packArray(frame.arrayRef(source));
    Box box = destination.getBox(frame);
    if (destination.isPiece && failed(checkPiece(**worker, op, box, element)))
      return failure();
    return visitBox(
        **worker, op, box, adds ? Access::Add : Access::Write,
        [&](int64_t first, int64_t count, Slot *elements, int64_t stride) {
          for (int64_t i = 0; i < count; ++i) {
            const Slot &stored = value->data()[order[first + i]];
            if (adds)
              addTo(elements[i * stride], stored, real, policy);
            else
              elements[i * stride] = stored;
          }
        });
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static LogicalResult compileDrain(fagpu::DrainOp op, ProgramBuilder &builder) {
  fagpu::ViewType type = op.getView().getType();
  Destination destination(op, builder, /*columns=*/Value(), /*padded=*/false);
  unsigned source = builder.getRegister(op.getView());
  bool adds = op.getAdd();
  auto real = dyn_cast<FloatType>(type.getElementType());
  if (adds && !real)
    return refuse(op, "that adds integers");
  const NumberPolicy &policy = builder.getPolicy();
  builder.emit([=, &policy](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker) || failed((*worker)->step(op)))
      return failure();
    auto &view = static_cast<ViewValue &>(*frame[source].object);
    std::vector<Slot> stage;
    if (failed(view.read(**worker, op, stage)))
      return failure();
    (*worker)->record(op, "drained");
    return visitBox(
        **worker, op, destination.getBox(frame),
        adds ? Access::Add : Access::Write,
        [&](int64_t first, int64_t count, Slot *elements, int64_t stride) {
          for (int64_t i = 0; i < count; ++i) {
            Slot &target = elements[i * stride];
            if (adds)
              addTo(target, stage[first + i], real, policy);
            else
              target = stage[first + i];
          }
        });
  });
  return success();
}

void interpreter::addStoreSemantics(Semantics &semantics) {
  semantics.add<fagpu::StoreOp>(compileStore);
  semantics.add<fagpu::DrainOp>(compileDrain);
}
