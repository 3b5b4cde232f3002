//===- Slicing.cpp - Slices of operands and their absolute place ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers that every tiling of attention uses: slices of operands in any
// order of dimensions, and the offsets that keep a tile's indices absolute.
// Read `createSlice`, then `materializePlace` and `getKeyHeadTile` (grouped
// queries).
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/Slicing.h"
#include "AttentionVerifiers.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::fa;

OpFoldResult mlir::fa::getMixedSize(OpBuilder &builder, Location loc,
                                    Value shaped, int64_t position) {
  if (isa<MemRefType>(shaped.getType()))
    return memref::getMixedSize(builder, loc, shaped, position);
  return tensor::getMixedSize(builder, loc, shaped, position);
}

OpFoldResult mlir::fa::getMixedSize(OpBuilder &builder, Location loc,
                                    Value shaped, DimsAttr order,
                                    DimKind kind) {
  return getMixedSize(builder, loc, shaped, order.positionOf(kind));
}

static Value getUncast(Value shaped) {
  while (Operation *cast = shaped.getDefiningOp()) {
    if (!isa<memref::CastOp, tensor::CastOp>(cast))
      break;
    shaped = cast->getOperand(0);
  }
  return shaped;
}

bool mlir::fa::isWholeDim(OpBuilder &builder, OpFoldResult offset,
                          OpFoldResult size, Value shaped, DimsAttr order,
                          DimKind kind) {
  if (!isConstantIntValue(offset, 0))
    return false;
  int64_t position = order.positionOf(kind);
  int64_t whole = cast<ShapedType>(shaped.getType()).getDimSize(position);
  if (!ShapedType::isDynamic(whole))
    return isConstantIntValue(size, whole);
  auto value = dyn_cast<Value>(size);
  if (auto dim = value ? value.getDefiningOp<ShapedDimOpInterface>() : nullptr)
    if (getUncast(dim.getShapedValue()) == getUncast(shaped) &&
        isConstantIntValue(dim.getDimension(), position))
      return true;
  // The size of a slice folds to what the slice was made with, that of a cast
  // to the size that was cast.
  if (isEqualConstantIntOrValue(
          getMixedSize(builder, shaped.getLoc(), shaped, position), size))
    return true;
  FailureOr<bool> isEqual =
      ValueBoundsConstraintSet::areEqual({shaped, position}, {size});
  return succeeded(isEqual) && *isEqual;
}

SmallVector<OpFoldResult> DimValues::inOrder(DimsAttr order) const {
  SmallVector<OpFoldResult> values(4);
  values[order.positionOf(DimKind::Batch)] = batch;
  values[order.positionOf(DimKind::Sequence)] = sequence;
  values[order.positionOf(DimKind::Heads)] = heads;
  values[order.positionOf(DimKind::HeadDim)] = headDim;
  return values;
}

Value mlir::fa::createSlice(OpBuilder &builder, Location loc, Value shaped,
                            ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes) {
  auto type = cast<ShapedType>(shaped.getType());
  auto isWhole = [&](auto item) {
    auto [dim, offset, size] = item;
    return isConstantIntValue(offset, 0) && !type.isDynamicDim(dim) &&
           isConstantIntValue(size, type.getDimSize(dim));
  };
  if (llvm::all_of(llvm::enumerate(offsets, sizes), isWhole))
    return shaped;
  SmallVector<OpFoldResult> strides(offsets.size(), builder.getIndexAttr(1));
  if (isa<MemRefType>(type))
    return memref::SubViewOp::create(builder, loc, shaped, offsets, sizes,
                                     strides);
  return tensor::ExtractSliceOp::create(builder, loc, shaped, offsets, sizes,
                                        strides);
}

Value mlir::fa::createLeadingSlice(OpBuilder &builder, Location loc,
                                   Value shaped, OpFoldResult position) {
  auto type = cast<ShapedType>(shaped.getType());
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(rank, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes{builder.getIndexAttr(1)};
  for (int64_t dim = 1; dim < rank; ++dim)
    sizes.push_back(getMixedSize(builder, loc, shaped, dim));
  offsets[0] = position;
  ArrayRef<int64_t> shape = type.getShape().drop_front();
  if (auto memref = dyn_cast<MemRefType>(type)) {
    auto reduced = memref::SubViewOp::inferRankReducedResultType(
        shape, memref, offsets, sizes, strides);
    return memref::SubViewOp::create(builder, loc, cast<MemRefType>(reduced),
                                     shaped, offsets, sizes, strides);
  }
  return tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), shaped,
      offsets, sizes, strides);
}

Value mlir::fa::createSliceOf(OpBuilder &builder, Location loc, Value shaped,
                              DimsAttr order, DimKind kind, OpFoldResult offset,
                              OpFoldResult size) {
  int64_t rank = cast<ShapedType>(shaped.getType()).getRank();
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)), sizes;
  for (int64_t position = 0; position < rank; ++position)
    sizes.push_back(getMixedSize(builder, loc, shaped, position));
  offsets[order.positionOf(kind)] = offset;
  sizes[order.positionOf(kind)] = size;
  return createSlice(builder, loc, shaped, offsets, sizes);
}

OpFoldResult mlir::fa::addSizes(OpBuilder &builder, Location loc,
                                OpFoldResult a, OpFoldResult b) {
  AffineExpr s0, s1;
  bindSymbols(builder.getContext(), s0, s1);
  return affine::makeComposedFoldedAffineApply(builder, loc, s0 + s1, {a, b});
}

template <typename OpTy>
void mlir::fa::materializePlace(OpBuilder &builder, OpTy op) {
  Location loc = op.getLoc();
  if (op.getOffsets().empty()) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    op.getOffsetsMutable().assign(SmallVector<Value>(4, zero));
  }
  if (!op.getExtents().empty())
    return;
  Value extents[] = {getValueOrCreateConstantIndexOp(
                         builder, loc,
                         getMixedSize(builder, loc, op.getQuery(),
                                      op.getQueryOrder(), DimKind::Sequence)),
                     getValueOrCreateConstantIndexOp(
                         builder, loc,
                         getMixedSize(builder, loc, op.getKey(),
                                      op.getKeyOrder(), DimKind::Sequence))};
  op.getExtentsMutable().assign(extents);
}

template void mlir::fa::materializePlace(OpBuilder &, AttentionOp);
template void mlir::fa::materializePlace(OpBuilder &, OnlineAttentionOp);
template void mlir::fa::materializePlace(OpBuilder &, AttentionGradientOp);
template void mlir::fa::materializePlace(OpBuilder &, GradientKeysOp);
template void mlir::fa::materializePlace(OpBuilder &, GradientQueriesOp);

OpFoldResult mlir::fa::getKeyHead(OpBuilder &builder,
                                  AttentionLikeOpInterface op,
                                  OpFoldResult head) {
  Location loc = op.getLoc();
  OpFoldResult heads = getMixedSize(builder, loc, op.getQuery(),
                                    op.getQueryOrder(), DimKind::Heads);
  OpFoldResult keyHeads =
      getMixedSize(builder, loc, op.getKey(), op.getKeyOrder(), DimKind::Heads);
  std::optional<int64_t> staticHeads = getConstantIntValue(heads);
  std::optional<int64_t> staticKeyHeads = getConstantIntValue(keyHeads);
  if (staticHeads && staticKeyHeads && *staticKeyHeads > 0) {
    AffineExpr s0;
    bindSymbols(builder.getContext(), s0);
    return affine::makeComposedFoldedAffineApply(
        builder, loc, s0.floorDiv(*staticHeads / *staticKeyHeads), {head});
  }
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  };
  Value group =
      arith::DivUIOp::create(builder, loc, toValue(heads), toValue(keyHeads));
  return arith::DivUIOp::create(builder, loc, toValue(head), group).getResult();
}

FailureOr<HeadTile> mlir::fa::getKeyHeadTile(OpBuilder &builder, AttentionOp op,
                                             OpFoldResult offset,
                                             OpFoldResult size) {
  int64_t heads = sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Heads);
  int64_t keyHeads = sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Heads);
  OpFoldResult one = builder.getIndexAttr(1);
  if (keyHeads == 1)
    return HeadTile{builder.getIndexAttr(0), one};
  std::optional<int64_t> tile = getConstantIntValue(size);
  if (tile == 1)
    return HeadTile{getKeyHead(builder, op, offset), one};
  bool isStatic = !ShapedType::isDynamic(heads) &&
                  !ShapedType::isDynamic(keyHeads) && keyHeads > 0;
  if (isStatic && heads == keyHeads)
    return HeadTile{offset, size};
  if (!isStatic || !tile) {
    op.emitOpError() << "has a dynamic number of query heads for each key "
                        "head or a dynamic tile of query heads, expected a "
                        "tile of 1 query head";
    return failure();
  }
  int64_t group = heads / keyHeads;
  std::optional<int64_t> first = getConstantIntValue(offset);
  if (group % *tile == 0 && (!first || *first % *tile == 0))
    return HeadTile{getKeyHead(builder, op, offset), one};
  if (*tile % group == 0 && (!first || *first % group == 0))
    return HeadTile{getKeyHead(builder, op, offset),
                    builder.getIndexAttr(*tile / group)};
  op.emitOpError() << "tile of " << *tile << " query heads cuts groups of "
                   << group
                   << " query heads, expected a divisor or a multiple of "
                   << group;
  return failure();
}
