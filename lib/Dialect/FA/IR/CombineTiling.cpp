//===- CombineTiling.cpp - Tiling of fa.combine --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops: batch, heads, queries, all parallel: each row is merged by itself.
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
enum Loop : unsigned { Batch, Head, Query, NumLoops };
} // namespace

SmallVector<utils::IteratorType> CombineOp::getLoopIteratorTypes() {
  return SmallVector<utils::IteratorType>(NumLoops,
                                          utils::IteratorType::parallel);
}

SmallVector<Range> CombineOp::getIterationDomain(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  // An lse has the loops as its dimensions.
  SmallVector<Range> ranges;
  for (int64_t loop = 0; loop < NumLoops; ++loop)
    ranges.push_back(
        {zero, getMixedSize(builder, getLoc(), getLseA(), loop), one});
  return ranges;
}

/// Place of a tile in one of the outputs.
static void getOutputPosition(OpBuilder &builder, CombineOp op,
                              ArrayRef<OpFoldResult> offsets,
                              ArrayRef<OpFoldResult> sizes,
                              Mixed &outputOffsets, Mixed &outputSizes) {
  DimsAttr order = op.getOrder();
  OpFoldResult headDim = getMixedSize(builder, op.getLoc(), op.getOutput(),
                                      order, DimKind::HeadDim);
  outputOffsets = DimValues{offsets[Batch], offsets[Query], offsets[Head],
                            builder.getIndexAttr(0)}
                      .inOrder(order);
  outputSizes =
      DimValues{sizes[Batch], sizes[Query], sizes[Head], headDim}.inOrder(
          order);
}

/// `offset`, absent for 0, further by `distance`.
static Value advance(OpBuilder &builder, Location loc, Value offset,
                     OpFoldResult distance) {
  OpFoldResult start =
      offset ? OpFoldResult(offset) : OpFoldResult(builder.getIndexAttr(0));
  return getValueOrCreateConstantIndexOp(
      builder, loc, addSizes(builder, loc, start, distance));
}

FailureOr<TilingResult>
CombineOp::getTiledImplementation(OpBuilder &builder,
                                  ArrayRef<OpFoldResult> offsets,
                                  ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  Mixed outputOffsets, outputSizes;
  getOutputPosition(builder, *this, offsets, sizes, outputOffsets, outputSizes);
  IRMapping slices;
  TilingResult result;
  auto slice = [&](Value whole, ArrayRef<OpFoldResult> first,
                   ArrayRef<OpFoldResult> count) {
    // A merge in place has one slice for what it reads and writes.
    if (!whole || slices.contains(whole))
      return;
    Value part = createSlice(builder, loc, whole, first, count);
    slices.map(whole, part);
    if (part != whole)
      result.generatedSlices.push_back(part.getDefiningOp());
  };
  for (Value output : {getOutputA(), getOutputB(), getOutput()})
    slice(output, outputOffsets, outputSizes);
  for (Value lse : {getLseA(), getLseB(), getLse()})
    slice(lse, offsets, sizes);

  Value batchOffset = getBatchOffset(), queryOffset = getQueryOffset();
  if (getQueryLengths()) {
    batchOffset = advance(builder, loc, batchOffset, offsets[Batch]);
    queryOffset = advance(builder, loc, queryOffset, offsets[Query]);
  }
  auto tiled = cast<CombineOp>(builder.clone(*getOperation(), slices));
  if (batchOffset)
    tiled.getBatchOffsetMutable().assign(batchOffset);
  if (queryOffset)
    tiled.getQueryOffsetMutable().assign(queryOffset);
  for (auto [value, init] : llvm::zip(tiled->getResults(), tiled.getDpsInits()))
    value.setType(init.getType());
  result.tiledOps.push_back(tiled);
  llvm::append_range(result.tiledValues, tiled->getResults());
  return result;
}

LogicalResult CombineOp::getResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, Mixed &resultOffsets, Mixed &resultSizes) {
  if (resultNumber == 0) {
    getOutputPosition(builder, *this, offsets, sizes, resultOffsets,
                      resultSizes);
    return success();
  }
  resultOffsets = Mixed(offsets);
  resultSizes = Mixed(sizes);
  return success();
}
