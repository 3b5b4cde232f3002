//===- AttentionTiling.cpp - Tiling of fa.attention ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops: batch, query heads, queries (parallel) and keys (reduction). A tile
// of keys is no attention over all keys, and its softmax cannot be merged
// without its lse, so plain tiling of keys is refused; partial reduction keeps
// the lse of each part and merges by `fa.combine`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::fa;

using Mixed = SmallVector<OpFoldResult>;

namespace {
enum Loop : unsigned { Batch, Head, Query, Key, NumLoops };
} // namespace

SmallVector<utils::IteratorType> AttentionOp::getLoopIteratorTypes() {
  SmallVector<utils::IteratorType> types(NumLoops,
                                         utils::IteratorType::parallel);
  types[Key] = utils::IteratorType::reduction;
  return types;
}

SmallVector<Range> AttentionOp::getIterationDomain(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto range = [&](Value operand, DimsAttr order, DimKind kind) {
    // Packed sequences and pages have no batch; no tile of them is made here.
    if (!order.has(kind))
      return Range{zero, one, one};
    return Range{zero, getMixedSize(builder, getLoc(), operand, order, kind),
                 one};
  };
  DimsAttr order = getQueryOrder();
  return {range(getQuery(), order, DimKind::Batch),
          range(getQuery(), order, DimKind::Heads),
          range(getQuery(), order, DimKind::Sequence),
          range(getKey(), getKeyOrder(), DimKind::Sequence)};
}

/// The slices of all operands that one tile of the loops touches.
struct AttentionTile {
  Value query, key, value, output, lse;
};

static FailureOr<AttentionTile> sliceOperands(OpBuilder &builder,
                                              AttentionOp op,
                                              ArrayRef<OpFoldResult> offsets,
                                              ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  OpFoldResult zero = builder.getIndexAttr(0);
  HeadTile keyHeads{zero, getMixedSize(builder, loc, op.getKey(),
                                       op.getKeyOrder(), DimKind::Heads)};
  bool allHeads = isWholeDim(builder, offsets[Head], sizes[Head], op.getQuery(),
                             op.getQueryOrder(), DimKind::Heads);
  if (!allHeads) {
    FailureOr<HeadTile> tile =
        getKeyHeadTile(builder, op, offsets[Head], sizes[Head]);
    if (failed(tile))
      return failure();
    keyHeads = *tile;
  }
  auto slice = [&](Value operand, DimsAttr order, Loop sequence,
                   const HeadTile &heads) {
    OpFoldResult headDim =
        getMixedSize(builder, loc, operand, order, DimKind::HeadDim);
    DimValues first{offsets[Batch], offsets[sequence], heads.offset, zero};
    DimValues count{sizes[Batch], sizes[sequence], heads.size, headDim};
    return createSlice(builder, loc, operand, first.inOrder(order),
                       count.inOrder(order));
  };
  HeadTile heads{offsets[Head], sizes[Head]};
  AttentionTile tile;
  tile.query = slice(op.getQuery(), op.getQueryOrder(), Query, heads);
  tile.key = slice(op.getKey(), op.getKeyOrder(), Key, keyHeads);
  tile.value = slice(op.getValue(), op.getValueOrder(), Key, keyHeads);
  tile.output = slice(op.getOutput(), op.getOutputOrder(), Query, heads);
  if (op.getLse())
    tile.lse = createSlice(builder, loc, op.getLse(), offsets.take_front(3),
                           sizes.take_front(3));
  return tile;
}

// A copy of `op` on `tile`, whose first element is at `offsets` within `op`.
static AttentionOp createTiled(OpBuilder &builder, AttentionOp op,
                               const AttentionTile &tile,
                               ArrayRef<OpFoldResult> offsets) {
  Location loc = op.getLoc();
  auto tiled = cast<AttentionOp>(builder.clone(*op));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tiled);
  materializePlace(builder, tiled);
  SmallVector<Value> place;
  for (auto [outer, inner] : llvm::zip_equal(tiled.getOffsets(), offsets))
    place.push_back(getValueOrCreateConstantIndexOp(
        builder, loc, addSizes(builder, loc, getAsOpFoldResult(outer), inner)));
  tiled.getOffsetsMutable().assign(place);
  tiled.getQueryMutable().set(tile.query);
  tiled.getKeyMutable().set(tile.key);
  tiled.getValueMutable().set(tile.value);
  tiled.getOutputMutable().set(tile.output);
  if (tile.lse)
    tiled.getLseMutable().assign(tile.lse);
  for (auto [result, init] :
       llvm::zip(tiled->getResults(), tiled.getDpsInits()))
    result.setType(init.getType());
  return tiled;
}

static TilingResult getTilingResult(AttentionOp tiled,
                                    const AttentionTile &tile) {
  TilingResult result{
      {tiled}, llvm::to_vector_of<Value>(tiled->getResults()), {}};
  for (Value slice : {tile.query, tile.key, tile.value, tile.output, tile.lse})
    if (slice && isa_and_nonnull<tensor::ExtractSliceOp, memref::SubViewOp>(
                     slice.getDefiningOp()))
      result.generatedSlices.push_back(slice.getDefiningOp());
  return result;
}

FailureOr<TilingResult>
AttentionOp::getTiledImplementation(OpBuilder &builder,
                                    ArrayRef<OpFoldResult> offsets,
                                    ArrayRef<OpFoldResult> sizes) {
  if (isRagged())
    return emitOpError("has packed sequences or pages, which no tile of its "
                       "operands holds; use fa-tile");
  if (!isWholeDim(builder, offsets[Key], sizes[Key], getKey(), getKeyOrder(),
                  DimKind::Sequence))
    return emitOpError()
           << "cannot tile its keys: the softmax of a block of keys is not a "
              "part of the whole one; use fa-split-kv or partial reduction, "
              "or convert to fa.online_attention first";
  FailureOr<AttentionTile> tile = sliceOperands(builder, *this, offsets, sizes);
  if (failed(tile))
    return failure();
  return getTilingResult(createTiled(builder, *this, *tile, offsets), *tile);
}

LogicalResult AttentionOp::getResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, Mixed &resultOffsets, Mixed &resultSizes) {
  if (resultNumber == 1) {
    resultOffsets = Mixed(offsets.take_front(3));
    resultSizes = Mixed(sizes.take_front(3));
    return success();
  }
  DimsAttr order = getOutputOrder();
  OpFoldResult headDim =
      getMixedSize(builder, getLoc(), getOutput(), order, DimKind::HeadDim);
  resultOffsets = DimValues{offsets[Batch], offsets[Query], offsets[Head],
                            builder.getIndexAttr(0)}
                      .inOrder(order);
  resultSizes =
      DimValues{sizes[Batch], sizes[Query], sizes[Head], headDim}.inOrder(
          order);
  return success();
}

LogicalResult AttentionOp::getIterationDomainTileFromResultTile(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVectorImpl<OpFoldResult> &domainOffsets,
    SmallVectorImpl<OpFoldResult> &domainSizes) {
  int64_t positions[] = {0, 1, 2};
  if (resultNumber == 0) {
    DimsAttr order = getOutputOrder();
    // A part of the head dim would repeat the whole softmax for it.
    int64_t headDim = order.positionOf(DimKind::HeadDim);
    if (!isWholeDim(builder, offsets[headDim], sizes[headDim], getOutput(),
                    order, DimKind::HeadDim))
      return failure();
    positions[Batch] = order.positionOf(DimKind::Batch);
    positions[Head] = order.positionOf(DimKind::Heads);
    positions[Query] = order.positionOf(DimKind::Sequence);
  }
  for (int64_t position : positions) {
    domainOffsets.push_back(offsets[position]);
    domainSizes.push_back(sizes[position]);
  }
  domainOffsets.push_back(builder.getIndexAttr(0));
  domainSizes.push_back(getMixedSize(builder, getLoc(), getKey(), getKeyOrder(),
                                     DimKind::Sequence));
  return success();
}

FailureOr<TilingResult>
AttentionOp::generateResultTileValue(OpBuilder &builder, unsigned resultNumber,
                                     ArrayRef<OpFoldResult> offsets,
                                     ArrayRef<OpFoldResult> sizes) {
  Mixed domainOffsets, domainSizes;
  if (failed(getIterationDomainTileFromResultTile(
          builder, resultNumber, offsets, sizes, domainOffsets, domainSizes)))
    return failure();
  FailureOr<TilingResult> tiled =
      getTiledImplementation(builder, domainOffsets, domainSizes);
  if (failed(tiled))
    return failure();
  return TilingResult{tiled->tiledOps,
                      {tiled->tiledValues[resultNumber]},
                      tiled->generatedSlices};
}
