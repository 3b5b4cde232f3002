//===- GatherSemantics.cpp - Elements of memory at their own indices ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers, scattered additions, and the extremes of a run of elements. Read
// `ElementPlaces`, which finds where each element lies; the rest is what is
// done there.
//
//===----------------------------------------------------------------------===//

#include "GPUSemantics.h"
#include "fa/Dialect/FAGPU/IR/OwnedSums.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

namespace {
/// A number of each element: an array, or one scalar for all.
struct ElementIndex {
  const Slot *slots;
  bool isScalar;

  int64_t operator[](int64_t element) const {
    return slots[isScalar ? 0 : element].integer;
  }
};
} // namespace

namespace {
/// Where the elements of a block value lie in memory.
struct ElementPlaces {
  Operation *op;
  SmallVector<unsigned> indices;
  SmallVector<bool> isScalar;
  std::optional<unsigned> mask;
  int64_t numElements;

  template <typename Op>
  ElementPlaces(Op op, RankedTensorType type, ProgramBuilder &builder)
      : op(op), indices(builder.getRegisters(op.getIndices())),
        isScalar(llvm::map_to_vector(op.getIndices(),
                                     [](Value index) {
                                       return !isa<RankedTensorType>(
                                           index.getType());
                                     })),
        mask(getOptionalRegister(builder, op.getMask())),
        numElements(type.getNumElements()) {}

  /// Calls `visit` with the number of each element that the mask leaves, and
  /// its place in the memory's storage.
  LogicalResult
  visit(Frame &frame, const Array &memory,
        llvm::function_ref<LogicalResult(int64_t, int64_t)> visit) const {
    SmallVector<ArrayRefPtr> packed;
    SmallVector<ElementIndex> at;
    for (auto [index, scalar] : llvm::zip_equal(indices, isScalar)) {
      if (!scalar)
        packed.push_back(packArray(frame.arrayRef(index)));
      at.push_back(
          {scalar ? &frame.slot(index) : packed.back()->data(), scalar});
    }
    ArrayRefPtr chosen = mask ? packArray(frame.arrayRef(*mask)) : nullptr;
    for (int64_t i = 0; i < numElements; ++i) {
      if (chosen && !chosen->data()[i].integer)
        continue;
      SmallVector<int64_t> position = llvm::map_to_vector(
          at, [&](const ElementIndex &index) { return index[i]; });
      FailureOr<int64_t> offset = getElementOffset(op, memory, position);
      if (failed(offset) || failed(visit(i, *offset)))
        return failure();
    }
    return success();
  }
};
} // namespace

static LogicalResult compileGather(fagpu::GatherOp op,
                                   ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSource());
  auto type = cast<RankedTensorType>(op.getType());
  ElementPlaces places(op, type, builder);
  unsigned result = builder.getRegister(op.getResult());
  SmallVector<int64_t> shape(type.getShape());
  builder.emit([=](Frame &frame) -> LogicalResult {
    const Array &memory = frame.array(source);
    ArrayRefPtr values = makeFilledArray(shape, Slot::ofInteger(0));
    frame[result] = values;
    return places.visit(frame, memory, [&](int64_t element, int64_t place) {
      values->data()[element] = memory.storage->data()[place];
      return success();
    });
  });
  return success();
}

/// Additions are rounded one by one, in the order of the elements.
static LogicalResult compileScatterAdd(fagpu::ScatterAddOp op,
                                       ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getValue());
  unsigned destination = builder.getRegister(op.getDestination());
  auto type = cast<RankedTensorType>(op.getValue().getType());
  ElementPlaces places(op, type, builder);
  auto real = cast<FloatType>(type.getElementType());
  const NumberPolicy &policy = builder.getPolicy();
  bool isOwned = op->hasAttr(fagpu::ownedAttrName);
  Access access = isOwned ? Access::AddOwned : Access::Add;
  builder.emit([=, &policy](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker) || failed((*worker)->step(op)))
      return failure();
    const Array &memory = frame.array(destination);
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    WriteLog &log = (*worker)->getBlock().getGrid().writes;
    return places.visit(
        frame, memory, [&](int64_t element, int64_t place) -> LogicalResult {
          if (failed(log.note(**worker, op, *memory.storage, place, /*count=*/1,
                              /*stride=*/1, access, isOwned ? element : 0)))
            return failure();
          Slot &target = memory.storage->data()[place];
          target.real += values->data()[element].real;
          policy.round(real, &target, 1);
          return success();
        });
  });
  return success();
}

static LogicalResult compileExtremes(fagpu::ExtremesOp op,
                                     ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSource());
  SmallVector<unsigned> indices = builder.getRegisters(op.getIndices());
  unsigned count = builder.getRegister(op.getCount());
  unsigned least = builder.getRegister(op.getLeast());
  unsigned greatest = builder.getRegister(op.getGreatest());
  int64_t size = static_cast<int64_t>(op.getSize());
  builder.emit([=](Frame &frame) -> LogicalResult {
    const Array &memory = frame.array(source);
    SmallVector<int64_t> position = llvm::map_to_vector(
        indices, [&](unsigned index) { return frame.slot(index).integer; });
    int64_t low = std::numeric_limits<int32_t>::max();
    int64_t high = std::numeric_limits<int32_t>::min();
    for (int64_t i = 0, e = std::min(size, frame.slot(count).integer); i < e;
         ++i, ++position.back()) {
      FailureOr<int64_t> offset = getElementOffset(op, memory, position);
      if (failed(offset))
        return failure();
      int64_t element = memory.storage->data()[*offset].integer;
      low = std::min(low, element);
      high = std::max(high, element);
    }
    frame.slot(least).integer = low;
    frame.slot(greatest).integer = high;
    return success();
  });
  return success();
}

void interpreter::addGatherSemantics(Semantics &semantics) {
  semantics.add<fagpu::GatherOp>(compileGather);
  semantics.add<fagpu::ScatterAddOp>(compileScatterAdd);
  semantics.add<fagpu::ExtremesOp>(compileExtremes);
}
