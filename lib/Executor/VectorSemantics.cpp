//===- VectorSemantics.cpp - The vector dialect in the executor -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that move elements between vectors. Most are a rearrangement known
// when the operation is compiled: element i of the result is element map[i] of
// the operand (`emitRearrangement`). Read this first; each operation is a
// function alone, and `addVectorSemantics` lists them.
//
//===----------------------------------------------------------------------===//

#include "VectorParts.h"
#include "fa/Executor/ArrayOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// Fails for scalable vectors and for elements that are not numbers.
static LogicalResult checkVectors(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    auto vector = dyn_cast<VectorType>(type);
    if (vector && vector.isScalable())
      return refuse(op, "of scalable vectors");
    if (!isSlotType(getElementTypeOrSelf(type)))
      return refuse(op, "of elements that are not numbers");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rearrangements
//===----------------------------------------------------------------------===//

/// Emits result[i] = concatenation of operands [map[i]]. Scalar operands count
/// as one element.
static LogicalResult emitRearrangement(Operation *op, SmallVector<int64_t> map,
                                       ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  SmallVector<unsigned> operands = builder.getRegisters(op->getOperands());
  SmallVector<bool> isVector = llvm::map_to_vector(
      op->getOperandTypes(), [](Type type) { return isa<VectorType>(type); });
  auto type = cast<VectorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=, map = std::move(map)](Frame &frame) {
    SmallVector<ArrayRefPtr, 2> parts;
    for (auto [index, vector] : llvm::zip_equal(operands, isVector))
      parts.push_back(vector ? packArray(frame.arrayRef(index))
                             : makeFilledArray({}, frame.slot(index)));
    Slot *target = getResultArray(frame, result, shape).data();
    for (auto [i, source] : llvm::enumerate(map)) {
      size_t part = 0;
      int64_t element = std::max<int64_t>(source, 0);
      while (element >= parts[part]->getNumElements())
        element -= parts[part++]->getNumElements();
      target[i] = parts[part]->data()[element];
    }
    return success();
  });
  return success();
}

static LogicalResult compileBroadcast(vector::BroadcastOp op,
                                      ProgramBuilder &builder) {
  VectorType type = op.getResultVectorType();
  auto source = dyn_cast<VectorType>(op.getSource().getType());
  SmallVector<int64_t> strides(type.getRank(), 0);
  if (source) {
    auto memory = getRowMajorStrides(source.getShape());
    int64_t skipped = type.getRank() - source.getRank();
    for (int64_t dim = 0; dim < source.getRank(); ++dim)
      if (source.getDimSize(dim) != 1)
        strides[skipped + dim] = memory[dim];
  }
  SmallVector<int64_t> map;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    map.push_back(getLinearOffset(index, strides));
  });
  return emitRearrangement(op, std::move(map), builder);
}

static LogicalResult compileTranspose(vector::TransposeOp op,
                                      ProgramBuilder &builder) {
  auto memory = getRowMajorStrides(op.getSourceVectorType().getShape());
  SmallVector<int64_t> strides = llvm::map_to_vector(
      op.getPermutation(), [&](int64_t dim) { return memory[dim]; });
  SmallVector<int64_t> map;
  forEachIndex(op.getResultVectorType().getShape(),
               [&](ArrayRef<int64_t> index) {
                 map.push_back(getLinearOffset(index, strides));
               });
  return emitRearrangement(op, std::move(map), builder);
}

static LogicalResult compileVectorShapeCast(vector::ShapeCastOp op,
                                            ProgramBuilder &builder) {
  auto map = llvm::to_vector(
      llvm::seq<int64_t>(op.getResultVectorType().getNumElements()));
  return emitRearrangement(op, std::move(map), builder);
}

/// Poison positions (-1) take the first element.
static LogicalResult compileShuffle(vector::ShuffleOp op,
                                    ProgramBuilder &builder) {
  VectorType type = op.getResultVectorType();
  int64_t row = 1;
  for (int64_t size : type.getShape().drop_front())
    row *= size;
  SmallVector<int64_t> map;
  for (int64_t position : op.getMask())
    for (int64_t i = 0; i < row; ++i)
      map.push_back(position * row + i);
  return emitRearrangement(op, std::move(map), builder);
}

static LogicalResult compileInterleave(vector::InterleaveOp op,
                                       ProgramBuilder &builder) {
  int64_t count = op.getSourceVectorType().getNumElements();
  SmallVector<int64_t> map;
  for (int64_t i = 0; i < count; ++i) {
    map.push_back(i);
    map.push_back(count + i);
  }
  return emitRearrangement(op, std::move(map), builder);
}

static LogicalResult compileExtractStrided(vector::ExtractStridedSliceOp op,
                                           ProgramBuilder &builder) {
  auto memory = getRowMajorStrides(op.getSourceVectorType().getShape());
  int64_t start = 0;
  for (auto [dim, offset] : llvm::enumerate(op.getOffsets()))
    start += cast<IntegerAttr>(offset).getInt() * memory[dim];
  SmallVector<int64_t> map;
  forEachIndex(cast<VectorType>(op.getType()).getShape(),
               [&](ArrayRef<int64_t> index) {
                 map.push_back(start + getLinearOffset(index, memory));
               });
  return emitRearrangement(op, std::move(map), builder);
}

/// Operands are the source, then the destination.
static LogicalResult compileInsertStrided(vector::InsertStridedSliceOp op,
                                          ProgramBuilder &builder) {
  VectorType source = op.getSourceVectorType(), dest = op.getDestVectorType();
  auto memory = getRowMajorStrides(dest.getShape());
  int64_t start = 0;
  for (auto [dim, offset] : llvm::enumerate(op.getOffsets()))
    start += cast<IntegerAttr>(offset).getInt() * memory[dim];
  int64_t count = source.getNumElements();
  auto map =
      llvm::to_vector(llvm::seq<int64_t>(count, count + dest.getNumElements()));
  auto trailing = ArrayRef<int64_t>(memory).take_back(source.getRank());
  int64_t element = 0;
  forEachIndex(source.getShape(), [&](ArrayRef<int64_t> index) {
    map[start + getLinearOffset(index, trailing)] = element++;
  });
  return emitRearrangement(op, std::move(map), builder);
}

static LogicalResult compileFromElements(vector::FromElementsOp op,
                                         ProgramBuilder &builder) {
  auto map = llvm::to_vector(llvm::seq<int64_t>(op.getElements().size()));
  return emitRearrangement(op, std::move(map), builder);
}

//===----------------------------------------------------------------------===//
// Parts at a position
//===----------------------------------------------------------------------===//

/// Offset of a sub-vector in a row-major vector.
static FailureOr<int64_t> getPartOffset(Operation *op, Frame &frame,
                                        ArrayRef<int64_t> shape,
                                        ArrayRef<IndexOperand> position) {
  auto strides = getRowMajorStrides(shape);
  int64_t offset = 0;
  for (auto [dim, operand] : llvm::enumerate(position)) {
    int64_t index = operand.get(frame);
    if (failed(checkIndex(op, index, dim, shape[dim])))
      return failure();
    offset += index * strides[dim];
  }
  return offset;
}

static LogicalResult compileExtract(vector::ExtractOp op,
                                    ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  auto position = builder.getIndexOperands(op.getMixedPosition());
  auto type = dyn_cast<VectorType>(op.getResult().getType());
  builder.emit([=](Frame &frame) -> LogicalResult {
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    FailureOr<int64_t> offset =
        getPartOffset(op, frame, values->shape, position);
    if (failed(offset))
      return failure();
    if (!type) {
      frame.slot(result) = values->data()[*offset];
      return success();
    }
    Array &part = getResultArray(frame, result, type.getShape());
    std::copy_n(values->data() + *offset, part.getNumElements(), part.data());
    return success();
  });
  return success();
}

static LogicalResult compileInsert(vector::InsertOp op,
                                   ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  unsigned value = builder.getRegister(op.getValueToStore());
  Use target = builder.getUse(op.getDestMutable());
  unsigned result = builder.getRegister(op.getResult());
  auto position = builder.getIndexOperands(op.getMixedPosition());
  bool isVector = isa<VectorType>(op.getValueToStore().getType());
  builder.emit([=](Frame &frame) -> LogicalResult {
    ArrayRefPtr part = isVector ? packArray(frame.arrayRef(value))
                                : makeFilledArray({}, frame.slot(value));
    ArrayRefPtr values = packArray(takeForUpdate(frame, target));
    FailureOr<int64_t> offset =
        getPartOffset(op, frame, values->shape, position);
    if (failed(offset))
      return failure();
    std::copy_n(part->data(), part->getNumElements(), values->data() + *offset);
    frame[result] = values;
    return success();
  });
  return success();
}

static LogicalResult compileDeinterleave(vector::DeinterleaveOp op,
                                         ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  unsigned source = builder.getRegister(op.getSource());
  SmallVector<unsigned> results = builder.getRegisters(op->getResults());
  SmallVector<int64_t> shape(op.getResultVectorType().getShape());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    for (auto [half, index] : llvm::enumerate(results)) {
      Array &target = getResultArray(frame, index, shape);
      for (int64_t i = 0; i < target.getNumElements(); ++i)
        target.data()[i] = values->data()[2 * i + half];
    }
    return success();
  });
  return success();
}

static LogicalResult compileToElements(vector::ToElementsOp op,
                                       ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  unsigned source = builder.getRegister(op.getSource());
  SmallVector<unsigned> results = builder.getRegisters(op->getResults());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    for (auto [i, index] : llvm::enumerate(results))
      frame.slot(index) = values->data()[i];
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static uint64_t getBits(Slot slot, Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return floatToBits(slot.real, real.getFloatSemantics());
  return asUnsigned(slot.integer, getIntegerWidth(type));
}

static Slot getFromBits(uint64_t bits, Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return Slot::ofReal(floatFromBits(bits, real.getFloatSemantics()));
  return Slot::ofInteger(
      wrapInteger(static_cast<int64_t>(bits), getIntegerWidth(type)));
}

/// Little-endian: the first element holds the lowest bits.
static LogicalResult compileBitCast(vector::BitCastOp op,
                                    ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  Type from = op.getSourceVectorType().getElementType();
  Type to = op.getResultVectorType().getElementType();
  if (from.isIndex() || to.isIndex())
    return refuse(op, "of index elements");
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  SmallVector<int64_t> shape(op.getResultVectorType().getShape());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    Array &target = getResultArray(frame, result, shape);
    for (int64_t i = 0; i < target.getNumElements(); ++i) {
      uint64_t bits = 0;
      for (unsigned bit = 0; bit < toWidth;) {
        uint64_t position = i * toWidth + bit;
        uint64_t chunk = getBits(values->data()[position / fromWidth], from) >>
                         (position % fromWidth);
        bits |= chunk << bit;
        bit += fromWidth - position % fromWidth;
      }
      target.data()[i] =
          getFromBits(bits & llvm::maskTrailingOnes<uint64_t>(toWidth), to);
    }
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Masks and steps
//===----------------------------------------------------------------------===//

static void fillMask(Array &mask, ArrayRef<int64_t> bounds) {
  Slot *element = mask.data();
  forEachIndex(mask.shape, [&](ArrayRef<int64_t> index) {
    bool isSet = true;
    for (auto [i, bound] : llvm::zip_equal(index, bounds))
      isSet &= i < bound;
    *element++ = Slot::ofInteger(isSet);
  });
}

static LogicalResult compileCreateMask(vector::CreateMaskOp op,
                                       ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  SmallVector<unsigned> bounds = builder.getRegisters(op.getOperands());
  SmallVector<int64_t> shape(op.getVectorType().getShape());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    fillMask(getResultArray(frame, result, shape), getIndices(frame, bounds));
    return success();
  });
  return success();
}

static LogicalResult compileConstantMask(vector::ConstantMaskOp op,
                                         ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  SmallVector<int64_t> bounds(op.getMaskDimSizes());
  SmallVector<int64_t> shape(op.getVectorType().getShape());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    fillMask(getResultArray(frame, result, shape), bounds);
    return success();
  });
  return success();
}

static LogicalResult compileStep(vector::StepOp op, ProgramBuilder &builder) {
  if (failed(checkVectors(op)))
    return failure();
  SmallVector<int64_t> shape(cast<VectorType>(op.getType()).getShape());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    Slot *target = getResultArray(frame, result, shape).data();
    for (int64_t i = 0; i < shape[0]; ++i)
      target[i].integer = i;
    return success();
  });
  return success();
}

void executor::addVectorSemantics(Semantics &semantics) {
  semantics.add<vector::BroadcastOp>(compileBroadcast);
  semantics.add<vector::TransposeOp>(compileTranspose);
  semantics.add<vector::ShapeCastOp>(compileVectorShapeCast);
  semantics.add<vector::ShuffleOp>(compileShuffle);
  semantics.add<vector::InterleaveOp>(compileInterleave);
  semantics.add<vector::DeinterleaveOp>(compileDeinterleave);
  semantics.add<vector::ExtractStridedSliceOp>(compileExtractStrided);
  semantics.add<vector::InsertStridedSliceOp>(compileInsertStrided);
  semantics.add<vector::FromElementsOp>(compileFromElements);
  semantics.add<vector::ToElementsOp>(compileToElements);
  semantics.add<vector::ExtractOp>(compileExtract);
  semantics.add<vector::InsertOp>(compileInsert);
  semantics.add<vector::BitCastOp>(compileBitCast);
  semantics.add<vector::CreateMaskOp>(compileCreateMask);
  semantics.add<vector::ConstantMaskOp>(compileConstantMask);
  semantics.add<vector::StepOp>(compileStep);
  addVectorArithmetic(semantics);
  addVectorMemory(semantics);
}
