//===- NaiveBuilder.cpp - Matrices of one head, as tensors or memrefs -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

Value NaiveBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value NaiveBuilder::constant(float value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}

static int64_t getStaticSize(OpFoldResult size) {
  return getConstantIntValue(size).value_or(ShapedType::kDynamic);
}

NaiveMatrix NaiveBuilder::getSlice(Value operand,
                                   SmallVector<OpFoldResult> sizes,
                                   ArrayRef<int64_t> shape) {
  NaiveMatrix matrix;
  // A size that a constant operation gives is static in the type, too.
  for (OpFoldResult &size : sizes)
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      size = builder.getIndexAttr(*constant);
  matrix.sizes = std::move(sizes);
  matrix.offsets.assign(matrix.sizes.size(), builder.getIndexAttr(0));
  matrix.strides.assign(matrix.sizes.size(), builder.getIndexAttr(1));
  if (auto tensor = dyn_cast<RankedTensorType>(operand.getType())) {
    auto type = RankedTensorType::get(shape, tensor.getElementType());
    matrix.value = tensor::ExtractSliceOp::create(builder, loc, type, operand,
                                                  matrix.offsets, matrix.sizes,
                                                  matrix.strides);
    return matrix;
  }
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(operand.getType()), matrix.offsets, matrix.sizes,
      matrix.strides);
  matrix.value =
      memref::SubViewOp::create(builder, loc, type, operand, matrix.offsets,
                                matrix.sizes, matrix.strides);
  return matrix;
}

NaiveMatrix NaiveBuilder::getMatrix(Value operand, DimsAttr order,
                                    OpFoldResult rows) {
  int64_t sequence = order.positionOf(DimKind::Sequence);
  int64_t headDim = order.positionOf(DimKind::HeadDim);
  int64_t size = cast<ShapedType>(operand.getType()).getDimSize(headDim);
  SmallVector<OpFoldResult> sizes(4, builder.getIndexAttr(1));
  sizes[sequence] = rows;
  sizes[headDim] = builder.getIndexAttr(size);
  SmallVector<int64_t> shape{getStaticSize(rows), size};
  bool isSwapped = headDim < sequence;
  if (isSwapped)
    std::swap(shape[0], shape[1]);
  NaiveMatrix matrix = getSlice(operand, sizes, shape);
  matrix.isSwapped = isSwapped;
  return matrix;
}

NaiveMatrix NaiveBuilder::getRow(Value lse, OpFoldResult rows) {
  OpFoldResult one = builder.getIndexAttr(1);
  return getSlice(lse, {one, one, rows}, {getStaticSize(rows)});
}

Value NaiveBuilder::insert(Value part, Value whole, const NaiveMatrix &matrix) {
  if (!onTensors)
    return Value();
  return tensor::InsertSliceOp::create(
      builder, loc, part, whole, matrix.offsets, matrix.sizes, matrix.strides);
}

Value NaiveBuilder::getScratch(ArrayRef<OpFoldResult> sizes) {
  if (onTensors)
    return tensor::EmptyOp::create(builder, loc, sizes, builder.getF32Type());
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  for (OpFoldResult size : sizes) {
    shape.push_back(getStaticSize(size));
    if (ShapedType::isDynamic(shape.back()))
      dynamicSizes.push_back(cast<Value>(size));
  }
  Value memory = memref::AllocOp::create(
      builder, loc, MemRefType::get(shape, builder.getF32Type()), dynamicSizes,
      /*alignment=*/builder.getI64IntegerAttr(64));
  allocations.push_back(memory);
  return memory;
}

Value NaiveBuilder::getFilled(ArrayRef<OpFoldResult> sizes, float value) {
  Value scratch = getScratch(sizes);
  auto fill = linalg::FillOp::create(builder, loc, constant(value), scratch);
  return onTensors ? fill.getResult(0) : scratch;
}

void NaiveBuilder::freeScratch() {
  for (Value memory : llvm::reverse(allocations))
    memref::DeallocOp::create(builder, loc, memory);
  allocations.clear();
}

Value NaiveBuilder::generic(ArrayRef<utils::IteratorType> iterators,
                            ArrayRef<SmallVector<unsigned>> maps,
                            ValueRange inputs, Value output, Body body) {
  SmallVector<AffineMap> affineMaps;
  for (ArrayRef<unsigned> loops : maps)
    affineMaps.push_back(AffineMap::getMultiDimMapWithTargets(
        iterators.size(), loops, builder.getContext()));
  SmallVector<Type> results;
  if (onTensors)
    results.push_back(output.getType());
  auto generic = linalg::GenericOp::create(
      builder, loc, results, inputs, output, affineMaps, iterators,
      [&](OpBuilder &nested, Location at, ValueRange scalars) {
        linalg::YieldOp::create(nested, at, body(nested, at, scalars));
      });
  return onTensors ? generic.getResult(0) : output;
}

Value NaiveBuilder::extend(OpBuilder &nested, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(nested, loc, nested.getF32Type(), value);
}

Value NaiveBuilder::truncate(OpBuilder &nested, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::TruncFOp::create(nested, loc, type, value);
}
