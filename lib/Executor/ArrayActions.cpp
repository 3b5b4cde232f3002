//===- ArrayActions.cpp - Actions that several dialects have --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The actions that tensor and memref have in common: allocation, slices,
// element loads, sizes. Each function takes the operands as values and
// registers one action. `compileElementLoad` shows the form; ArrayOps.cpp
// does the work at run time.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ArrayOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Whole arrays
//===----------------------------------------------------------------------===//

LogicalResult executor::compileAllocation(Operation *op, ShapedType type,
                                          ValueRange dynamicSizes,
                                          ProgramBuilder &builder) {
  if (!isSlotType(type.getElementType()))
    return refuse(op, "of elements that are not numbers");
  SmallVector<unsigned> sizes = builder.getRegisters(dynamicSizes);
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=](Frame &frame) -> LogicalResult {
    SmallVector<int64_t> shape = fillShape(type, getIndices(frame, sizes));
    if (failed(checkSizes(op, shape, *frame.execution)))
      return failure();
    frame[result] = makeFilledArray(shape, getPoison(type.getElementType()));
    return success();
  });
  return success();
}

LogicalResult executor::compileSliceView(Operation *op, Value source,
                                         SliceOperands slice,
                                         ProgramBuilder &builder) {
  unsigned whole = builder.getRegister(source);
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=, slice = std::move(slice)](Frame &frame) -> LogicalResult {
    FailureOr<ArrayRefPtr> view =
        makeSlice(op, frame, frame.array(whole), slice);
    if (failed(view))
      return failure();
    frame[result] = *view;
    return success();
  });
  return success();
}

LogicalResult executor::compileExpandShape(
    Operation *op, Value source, ArrayRef<SmallVector<int64_t, 2>> groups,
    ArrayRef<OpFoldResult> sizes, ProgramBuilder &builder) {
  unsigned whole = builder.getRegister(source);
  unsigned result = builder.getRegister(op->getResult(0));
  SmallVector<IndexOperand> shape = builder.getIndexOperands(sizes);
  SmallVector<SmallVector<int64_t, 2>> dims(groups);
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<ArrayRefPtr> view =
        expandArray(op, frame.array(whole), dims, getIndices(frame, shape));
    if (failed(view))
      return failure();
    frame[result] = *view;
    return success();
  });
  return success();
}

LogicalResult executor::compileCopyInto(Operation *op, Value source,
                                        Value target, ProgramBuilder &builder) {
  unsigned read = builder.getRegister(source);
  unsigned written = builder.getRegister(target);
  builder.emit([=](Frame &frame) -> LogicalResult {
    Array &from = frame.array(read), &to = frame.array(written);
    if (failed(checkLive(op, from)) || failed(checkLive(op, to)))
      return failure();
    if (from.shape != to.shape)
      return op->emitError("operands differ in shape at run time");
    copyElements(from, to);
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Elements, sizes and casts
//===----------------------------------------------------------------------===//

LogicalResult executor::compileElementLoad(Operation *op, Value array,
                                           ValueRange indices,
                                           ProgramBuilder &builder) {
  if (!isSlotType(op->getResult(0).getType()))
    return refuse(op, "of elements that are not numbers");
  unsigned source = builder.getRegister(array);
  SmallVector<unsigned> positions = builder.getRegisters(indices);
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=](Frame &frame) -> LogicalResult {
    Array &values = frame.array(source);
    FailureOr<int64_t> offset =
        getElementOffset(op, values, getIndices(frame, positions));
    if (failed(offset))
      return failure();
    frame.slot(result) = values.storage->data()[*offset];
    return success();
  });
  return success();
}

LogicalResult executor::compileElementLoadLanes(Operation *op, Value array,
                                                ValueRange indices,
                                                LaneBuilder &builder) {
  if (!isSlotType(op->getResult(0).getType()))
    return refuse(op, "of elements that are not numbers");
  unsigned source = builder.getObject(array);
  SmallVector<unsigned> positions = llvm::map_to_vector(
      indices, [&](Value index) { return builder.getLanes(index); });
  unsigned result = builder.getLanes(op->getResult(0));
  Slot zero = isa<FloatType>(op->getResult(0).getType()) ? Slot::ofReal(0)
                                                         : Slot::ofInteger(0);
  bool zeroOutOfBounds = builder.readsZeroOutOfBounds();
  builder.emit([=](LaneState &state, int64_t count) -> LogicalResult {
    const Array &values = state.objects[source].array();
    if (failed(checkLive(op, values)))
      return failure();
    // The result's lanes hold offsets first; -1 is out of bounds.
    Slot *out = state.lanes(result);
    for (int64_t lane = 0; lane < count; ++lane)
      out[lane].integer = values.offset;
    for (auto [dim, position] : llvm::enumerate(positions)) {
      const Slot *index = state.lanes(position);
      int64_t size = values.shape[dim], stride = values.strides[dim];
      for (int64_t lane = 0; lane < count; ++lane) {
        int64_t at = index[lane].integer;
        if (at >= 0 && at < size && out[lane].integer >= 0)
          out[lane].integer += at * stride;
        else if (zeroOutOfBounds)
          out[lane].integer = -1;
        else
          return checkIndex(op, at, dim, size);
      }
    }
    const Slot *base = values.storage->data();
    for (int64_t lane = 0; lane < count; ++lane)
      out[lane] = out[lane].integer < 0 ? zero : base[out[lane].integer];
    return success();
  });
  return success();
}

static FailureOr<int64_t> getDim(Operation *op, const Array &values,
                                 int64_t index) {
  if (index >= 0 && index < values.getRank())
    return values.shape[index];
  return op->emitError() << "'" << op->getName() << "' dimension " << index
                         << " of a value of rank " << values.getRank();
}

LogicalResult executor::compileDimLanes(Operation *op, Value array, Value dim,
                                        LaneBuilder &builder) {
  unsigned source = builder.getObject(array);
  unsigned position = builder.getLanes(dim);
  unsigned result = builder.getLanes(op->getResult(0));
  builder.emit([=](LaneState &state, int64_t count) -> LogicalResult {
    const Array &values = state.objects[source].array();
    for (int64_t lane = 0; lane < count; ++lane) {
      FailureOr<int64_t> size =
          getDim(op, values, state.lanes(position)[lane].integer);
      if (failed(size))
        return failure();
      state.lanes(result)[lane].integer = *size;
    }
    return success();
  });
  return success();
}

LogicalResult executor::compileDim(Operation *op, Value array, Value dim,
                                   ProgramBuilder &builder) {
  unsigned source = builder.getRegister(array);
  unsigned position = builder.getRegister(dim);
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<int64_t> size =
        getDim(op, frame.array(source), frame.integer(position));
    if (failed(size))
      return failure();
    frame.slot(result).integer = *size;
    return success();
  });
  return success();
}

LogicalResult executor::compileRank(Operation *op, Value array,
                                    ProgramBuilder &builder) {
  unsigned source = builder.getRegister(array);
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=](Frame &frame) {
    frame.slot(result).integer = frame.array(source).getRank();
    return success();
  });
  return success();
}

LogicalResult executor::compileShapeCast(Operation *op,
                                         ProgramBuilder &builder) {
  auto type = dyn_cast<ShapedType>(op->getResult(0).getType());
  if (!type || !type.hasRank() ||
      !cast<ShapedType>(op->getOperand(0).getType()).hasRank())
    return refuse(op, "of unranked types");
  Use source = builder.getUse(op->getOpOperand(0));
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=](Frame &frame) -> LogicalResult {
    if (failed(checkShape(op, frame.array(source.index).shape, type)))
      return failure();
    frame[result] = source.take(frame);
    return success();
  });
  return success();
}
