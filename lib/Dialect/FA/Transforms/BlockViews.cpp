//===- BlockViews.cpp - Views and loops over one block --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockViews.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

BlockBuilder::BlockBuilder(OpBuilder &builder, Location loc, ConfigAttr config)
    : builder(builder), loc(loc) {
  if (config)
    tile = dyn_cast_if_present<CPUConfigAttr>(config.getTarget());
}

Value BlockBuilder::matrix(Value operand, DimsAttr order, OpFoldResult rows) {
  auto type = cast<MemRefType>(operand.getType());
  int64_t sequence = order.positionOf(DimKind::Sequence);
  int64_t headDim = order.positionOf(DimKind::HeadDim);
  SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes(4, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(4, builder.getIndexAttr(1));
  if (!rows)
    rows = memref::getMixedSize(builder, loc, operand, sequence);
  sizes[sequence] = rows;
  sizes[headDim] = builder.getIndexAttr(type.getDimSize(headDim));
  SmallVector<int64_t> shape{
      getConstantIntValue(rows).value_or(ShapedType::kDynamic),
      type.getDimSize(headDim)};
  if (std::optional<int64_t> constant = getConstantIntValue(rows))
    sizes[sequence] = builder.getIndexAttr(*constant);
  // One row has no place of its own among dimensions of size 1: of these the
  // last one is kept where views leave dimensions out.
  if (shape[0] == 1 && headDim < 3)
    sequence = 3;
  if (sequence > headDim)
    std::swap(shape[0], shape[1]);
  auto [wholeStrides, offset] =
      memref::SubViewOp::inferResultType(type, offsets, sizes, strides)
          .getStridesAndOffset();
  auto viewType = MemRefType::get(
      shape, type.getElementType(),
      StridedLayoutAttr::get(builder.getContext(), offset,
                             {wholeStrides[std::min(sequence, headDim)],
                              wholeStrides[std::max(sequence, headDim)]}),
      type.getMemorySpace());
  Value view = memref::SubViewOp::create(builder, loc, viewType, operand,
                                         offsets, sizes, strides);
  if (sequence < headDim)
    return view;
  AffineMap swap = AffineMap::getPermutationMap(ArrayRef<int64_t>{1, 0},
                                                builder.getContext());
  return memref::TransposeOp::create(builder, loc, view,
                                     AffineMapAttr::get(swap));
}

Value BlockBuilder::firstRows(Value view, OpFoldResult rows) {
  auto type = cast<MemRefType>(view.getType());
  std::optional<int64_t> constant = getConstantIntValue(rows);
  if (constant && *constant == type.getDimSize(0))
    return view;
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, loc, view);
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  sizes[0] = constant ? OpFoldResult(builder.getIndexAttr(*constant)) : rows;
  return memref::SubViewOp::create(builder, loc, view, offsets, sizes, strides);
}

// A cache line in bytes and in f32, which no vector is wider than.
static constexpr int64_t lineBytes = 64, lineElements = 16;

Value BlockBuilder::scratch(ArrayRef<int64_t> shape) {
  // A column of a matrix whose rows are a power of two apart would fall on few
  // sets of a cache and evict itself.
  SmallVector<int64_t> padded(shape);
  bool isMatrix = shape.size() > 1 && shape.back() % (2 * lineElements) == 0;
  if (isMatrix)
    padded.back() += lineElements;
  Value memory = memref::AllocaOp::create(
      builder, loc, MemRefType::get(padded, builder.getF32Type()),
      builder.getI64IntegerAttr(lineBytes));
  if (!isMatrix)
    return memory;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  return memref::SubViewOp::create(
      builder, loc, memory, offsets,
      getAsIndexOpFoldResult(builder.getContext(), shape), strides);
}

Value BlockBuilder::constant(float value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}

void BlockBuilder::annotate(Operation *op) {
  if (tile)
    op->setAttr("fa.register_tile", tile);
}

void BlockBuilder::fill(Value view, float value) {
  annotate(linalg::FillOp::create(builder, loc, constant(value), view));
}

void BlockBuilder::generic(
    ArrayRef<utils::IteratorType> iterators,
    ArrayRef<SmallVector<unsigned>> maps, ValueRange inputs, ValueRange outputs,
    function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body) {
  SmallVector<AffineMap> affineMaps;
  for (ArrayRef<unsigned> loops : maps)
    affineMaps.push_back(AffineMap::getMultiDimMapWithTargets(
        iterators.size(), loops, builder.getContext()));
  annotate(linalg::GenericOp::create(
      builder, loc, inputs, outputs, affineMaps, iterators,
      [&](OpBuilder &nested, Location, ValueRange scalars) {
        linalg::YieldOp::create(nested, loc, body(nested, scalars));
      }));
}

Value mlir::fa::extendToF32(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

Value mlir::fa::truncateTo(OpBuilder &builder, Location loc, Value value,
                           Type type) {
  if (value.getType() == type)
    return value;
  return arith::TruncFOp::create(builder, loc, type, value);
}
