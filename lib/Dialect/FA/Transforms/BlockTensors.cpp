//===- BlockTensors.cpp - Blocks as matrices and rows on tensors ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A builder for block algebra on tensors, used by DecomposeStep.cpp. Operands
// of rank 4, in memory or not, are loaded as matrices and rows of a block;
// then come the operations on these. Read `getMatrixSlice` and `loadMatrix`
// first.
//
//===----------------------------------------------------------------------===//

#include "BlockTensors.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Operands and destinations
//===----------------------------------------------------------------------===//

SmallVector<int64_t> BlockSlice::getShape() const {
  return llvm::map_to_vector(dims, [&](int64_t dim) {
    return getConstantIntValue(sizes[dim]).value_or(ShapedType::kDynamic);
  });
}

static OpFoldResult asStatic(OpBuilder &builder, OpFoldResult size) {
  std::optional<int64_t> constant = getConstantIntValue(size);
  return constant ? OpFoldResult(builder.getIndexAttr(*constant)) : size;
}

BlockSlice BlockTensors::getMatrixSlice(Value operand, DimsAttr order,
                                        OpFoldResult rows) {
  int64_t sequence = order.positionOf(DimKind::Sequence);
  int64_t headDim = order.positionOf(DimKind::HeadDim);
  BlockSlice slice;
  slice.offsets.assign(4, builder.getIndexAttr(0));
  slice.strides.assign(4, builder.getIndexAttr(1));
  slice.sizes.assign(4, builder.getIndexAttr(1));
  slice.sizes[sequence] = asStatic(builder, rows);
  slice.sizes[headDim] = builder.getIndexAttr(
      cast<ShapedType>(operand.getType()).getDimSize(headDim));
  // One row and one column have no place of their own among dimensions of size
  // 1: of these the last ones are kept where slices leave dimensions out.
  if (getConstantIntValue(slice.sizes[headDim]) == 1)
    headDim = sequence == 3 ? 2 : 3;
  if (getConstantIntValue(rows) == 1 && headDim < 3)
    sequence = 3;
  slice.isTransposed = sequence > headDim;
  slice.dims = {std::min(sequence, headDim), std::max(sequence, headDim)};
  return slice;
}

BlockSlice BlockTensors::getRowSlice(Value operand, OpFoldResult rows) {
  BlockSlice slice;
  slice.offsets.assign(3, builder.getIndexAttr(0));
  slice.strides.assign(3, builder.getIndexAttr(1));
  slice.sizes.assign(3, builder.getIndexAttr(1));
  slice.sizes[2] = asStatic(builder, rows);
  slice.dims = {2};
  return slice;
}

/// The part of memory, as a matrix with its rows first.
static Value createView(OpBuilder &builder, Location loc, Value memory,
                        const BlockSlice &slice) {
  auto type = cast<MemRefType>(memory.getType());
  auto [strides, offset] = memref::SubViewOp::inferResultType(
                               type, slice.offsets, slice.sizes, slice.strides)
                               .getStridesAndOffset();
  SmallVector<int64_t> kept;
  for (int64_t dim : slice.dims)
    kept.push_back(strides[dim]);
  auto viewType = MemRefType::get(
      slice.getShape(), type.getElementType(),
      StridedLayoutAttr::get(builder.getContext(), offset, kept),
      type.getMemorySpace());
  Value view =
      memref::SubViewOp::create(builder, loc, viewType, memory, slice.offsets,
                                slice.sizes, slice.strides);
  if (!slice.isTransposed)
    return view;
  AffineMap swap = AffineMap::getPermutationMap(ArrayRef<int64_t>{1, 0},
                                                builder.getContext());
  return memref::TransposeOp::create(builder, loc, view,
                                     AffineMapAttr::get(swap));
}

Value BlockTensors::load(Value operand, const BlockSlice &slice) {
  Type element = getElementTypeOrSelf(operand.getType());
  if (isa<MemRefType>(operand.getType())) {
    Value view = createView(builder, loc, operand, slice);
    auto type = RankedTensorType::get(
        cast<MemRefType>(view.getType()).getShape(), element);
    return bufferization::ToTensorOp::create(builder, loc, type, view,
                                             /*restrict=*/true);
  }
  Value part = tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get(slice.getShape(), element), operand,
      slice.offsets, slice.sizes, slice.strides);
  return slice.isTransposed ? transpose(part) : part;
}

Value BlockTensors::loadState(Value state) {
  auto type = dyn_cast<MemRefType>(state.getType());
  if (!type)
    return state;
  return bufferization::ToTensorOp::create(
      builder, loc,
      RankedTensorType::get(type.getShape(), type.getElementType()), state,
      /*restrict=*/true);
}

SmallVector<Value> BlockTensors::storeState(ValueRange values,
                                            ValueRange states) {
  SmallVector<Value> results;
  for (auto [value, state] : llvm::zip_equal(values, states))
    if (isa<MemRefType>(state.getType()))
      bufferization::MaterializeInDestinationOp::create(
          builder, loc, /*result=*/Type(), value, state, /*restrict=*/true,
          /*writable=*/true);
    else
      results.push_back(value);
  return results;
}

BlockTensors::Destination BlockTensors::getDestination(Value operand,
                                                       BlockSlice slice,
                                                       OpFoldResult rows) {
  bool isMemory = isa<MemRefType>(operand.getType());
  return {isMemory ? createView(builder, loc, operand, slice) : operand, slice,
          rows};
}

BlockTensors::Destination BlockTensors::getMatrix(Value operand, DimsAttr order,
                                                  OpFoldResult rows) {
  return getDestination(operand, getMatrixSlice(operand, order, rows), rows);
}

BlockTensors::Destination BlockTensors::getRow(Value operand,
                                               OpFoldResult rows) {
  return getDestination(operand, getRowSlice(operand, rows), rows);
}

Value BlockTensors::loadForUpdate(const Destination &destination) {
  auto view = cast<MemRefType>(destination.place.getType());
  return bufferization::ToTensorOp::create(
      builder, loc,
      RankedTensorType::get(view.getShape(), view.getElementType()),
      destination.place, /*restrict=*/true, /*writable=*/true);
}

void BlockTensors::storeUpdate(Value tensor, const Destination &destination) {
  bufferization::MaterializeInDestinationOp::create(
      builder, loc, /*result=*/Type(), tensor, destination.place,
      /*restrict=*/true, /*writable=*/true);
}

Value BlockTensors::store(Value tensor, const Destination &destination) {
  const auto &[place, slice, rows] = destination;
  tensor = firstRows(tensor, rows);
  if (isa<MemRefType>(place.getType())) {
    bufferization::MaterializeInDestinationOp::create(
        builder, loc, /*result=*/Type(), tensor, place, /*restrict=*/true,
        /*writable=*/true);
    return Value();
  }
  if (slice.isTransposed)
    tensor = transpose(tensor);
  return tensor::InsertSliceOp::create(
      builder, loc, tensor, place, slice.offsets, slice.sizes, slice.strides);
}

Value BlockTensors::loadMatrix(Value operand, DimsAttr order) {
  OpFoldResult rows =
      getMixedSize(builder, loc, operand, order, DimKind::Sequence);
  return load(operand, getMatrixSlice(operand, order, rows));
}

Value BlockTensors::loadRow(Value lse) {
  return load(lse, getRowSlice(lse, getMixedSize(builder, loc, lse, 2)));
}

Value BlockTensors::padRows(Value tensor, OpFoldResult rows, float padding) {
  SmallVector<OpFoldResult> sizes = getSizes(tensor);
  if (isEqualConstantIntOrValue(sizes[0], rows))
    return tensor;
  AffineExpr s0, s1;
  bindSymbols(builder.getContext(), s0, s1);
  OpFoldResult none = builder.getIndexAttr(0);
  OpFoldResult missing = affine::makeComposedFoldedAffineApply(
      builder, loc, s0 - s1, {rows, sizes[0]});
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = getConstantIntValue(rows).value_or(ShapedType::kDynamic);
  Value value = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(type.getElementType(), padding));
  SmallVector<OpFoldResult> low(sizes.size(), none), high(low);
  high[0] = missing;
  return tensor::PadOp::create(builder, loc, type.clone(shape), tensor, low,
                               high, value);
}

Value BlockTensors::firstRows(Value tensor, OpFoldResult rows) {
  SmallVector<OpFoldResult> sizes = getSizes(tensor);
  if (isEqualConstantIntOrValue(sizes[0], rows))
    return tensor;
  sizes[0] = asStatic(builder, rows);
  return createSlice(
      builder, loc, tensor,
      SmallVector<OpFoldResult>(sizes.size(), builder.getIndexAttr(0)), sizes);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SmallVector<OpFoldResult> BlockTensors::getSizes(Value tensor) {
  return tensor::getMixedSizes(builder, loc, tensor);
}

Value BlockTensors::empty(Sizes sizes, Type element) {
  return tensor::EmptyOp::create(builder, loc, sizes, element);
}

Value BlockTensors::splat(Value value, Sizes sizes) {
  return tensor::SplatOp::create(builder, loc, value, sizes);
}

Value BlockTensors::splat(float value, Sizes sizes) {
  auto attribute = builder.getF32FloatAttr(value);
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  auto type = RankedTensorType::get(shape, attribute.getType());
  if (!type.hasStaticShape())
    return splat(arith::ConstantOp::create(builder, loc, attribute), sizes);
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, attribute));
}

Value BlockTensors::broadcast(Value numbers, Sizes sizes, int64_t added) {
  Value init = empty(sizes, getElementTypeOrSelf(numbers.getType()));
  return linalg::BroadcastOp::create(builder, loc, numbers, init,
                                     ArrayRef<int64_t>{added})
      ->getResult(0);
}

template <typename OpTy> Value BlockTensors::reduce(Value matrix, Value init) {
  int64_t last = cast<RankedTensorType>(matrix.getType()).getRank() - 1;
  return linalg::ReduceOp::create(
             builder, loc, matrix, init, ArrayRef<int64_t>{last},
             [](OpBuilder &nested, Location at, ValueRange scalars) {
               Value result = OpTy::create(nested, at, scalars[1], scalars[0]);
               linalg::YieldOp::create(nested, at, result);
             })
      .getResult(0);
}
template Value BlockTensors::reduce<arith::AddFOp>(Value, Value);
template Value BlockTensors::reduce<arith::MaxNumFOp>(Value, Value);

Value BlockTensors::contract(Value a, Value b, Value init,
                             ArrayRef<SmallVector<unsigned>> dims,
                             ConfigAttr config) {
  SmallVector<AffineMap> maps;
  for (ArrayRef<unsigned> loops : dims)
    maps.push_back(
        AffineMap::getMultiDimMapWithTargets(3, loops, builder.getContext()));
  auto product =
      linalg::ContractOp::create(builder, loc, init.getType(), ValueRange{a, b},
                                 init, builder.getAffineMapArrayAttr(maps));
  if (config)
    product->setAttr(FADialect::configAttrName, config);
  return product->getResult(0);
}

Value BlockTensors::isEqual(Value tensor, float value) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, tensor,
                               splatLike(value, tensor));
}

Value BlockTensors::extend(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType().isF32())
    return tensor;
  return arith::ExtFOp::create(builder, loc, type.clone(builder.getF32Type()),
                               tensor);
}

Value BlockTensors::truncate(Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  return arith::TruncFOp::create(builder, loc, type.clone(element), tensor);
}

Value BlockTensors::transpose(Value matrix) {
  SmallVector<OpFoldResult> sizes = getSizes(matrix);
  std::swap(sizes[0], sizes[1]);
  Value init = empty(sizes, getElementTypeOrSelf(matrix.getType()));
  return linalg::TransposeOp::create(builder, loc, matrix, init,
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}
