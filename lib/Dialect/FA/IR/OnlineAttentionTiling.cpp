//===- OnlineAttentionTiling.cpp - Tiling of fa.online_attention ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops: queries (parallel) and keys (reduction). The state that the operation
// takes and returns makes a block of keys one step, so plain tiling of keys is
// right: the loop carries the state. The state may hold more rows than there
// are queries; those rows belong to no tile.
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
enum Loop : unsigned { Query, Key };
} // namespace

SmallVector<utils::IteratorType> OnlineAttentionOp::getLoopIteratorTypes() {
  return {utils::IteratorType::parallel, utils::IteratorType::reduction};
}

SmallVector<Range> OnlineAttentionOp::getIterationDomain(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  return {Range{zero,
                getMixedSize(builder, getLoc(), getQuery(), getQueryOrder(),
                             DimKind::Sequence),
                one},
          Range{zero,
                getMixedSize(builder, getLoc(), getKey(), getKeyOrder(),
                             DimKind::Sequence),
                one}};
}

// Whether a tile of queries is all of them, so that the state is not sliced.
static bool isAllQueries(OpBuilder &builder, OnlineAttentionOp op,
                         OpFoldResult offset, OpFoldResult size) {
  return isWholeDim(builder, offset, size, op.getQuery(), op.getQueryOrder(),
                    DimKind::Sequence);
}

// Rows of the state that a tile of queries owns.
static void getStatePosition(OpBuilder &builder, OnlineAttentionOp op,
                             unsigned resultNumber,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes, Mixed &stateOffsets,
                             Mixed &stateSizes) {
  Value state = op.getDpsInits()[resultNumber];
  bool whole = isAllQueries(builder, op, offsets[Query], sizes[Query]);
  stateOffsets.assign({whole ? builder.getIndexAttr(0) : offsets[Query]});
  stateSizes.assign(
      {whole ? getMixedSize(builder, op.getLoc(), state, 0) : sizes[Query]});
  if (resultNumber > 0)
    return;
  stateOffsets.push_back(builder.getIndexAttr(0));
  stateSizes.push_back(getMixedSize(builder, op.getLoc(), state, 1));
}

FailureOr<TilingResult>
OnlineAttentionOp::getTiledImplementation(OpBuilder &builder,
                                          ArrayRef<OpFoldResult> offsets,
                                          ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  auto sliceInput = [&](Value operand, DimsAttr order, Loop sequence) {
    return createSliceOf(builder, loc, operand, order, DimKind::Sequence,
                         offsets[sequence], sizes[sequence]);
  };
  Value query = sliceInput(getQuery(), getQueryOrder(), Query);
  Value key = sliceInput(getKey(), getKeyOrder(), Key);
  Value value = sliceInput(getValue(), getValueOrder(), Key);
  SmallVector<Value> states;
  for (auto [number, state] : llvm::enumerate(getDpsInits())) {
    if (isAllQueries(builder, *this, offsets[Query], sizes[Query])) {
      states.push_back(state);
      continue;
    }
    Mixed stateOffsets, stateSizes;
    getStatePosition(builder, *this, number, offsets, sizes, stateOffsets,
                     stateSizes);
    states.push_back(
        createSlice(builder, loc, state, stateOffsets, stateSizes));
  }

  auto tiled = cast<OnlineAttentionOp>(builder.clone(*getOperation()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tiled);
  materializePlace(builder, tiled);
  SmallVector<Value> place(tiled.getOffsets());
  for (auto [position, loop] : {std::pair(2, Query), std::pair(3, Key)})
    place[position] = getValueOrCreateConstantIndexOp(
        builder, loc,
        addSizes(builder, loc, getAsOpFoldResult(place[position]),
                 offsets[loop]));
  tiled.getOffsetsMutable().assign(place);
  tiled.getQueryMutable().set(query);
  tiled.getKeyMutable().set(key);
  tiled.getValueMutable().set(value);
  for (auto [operand, state] :
       llvm::zip_equal(tiled.getDpsInitsMutable(), states))
    operand.set(state);
  for (auto [result, init] :
       llvm::zip(tiled->getResults(), tiled.getDpsInits()))
    result.setType(init.getType());

  TilingResult result{
      {tiled}, llvm::to_vector_of<Value>(tiled->getResults()), {}};
  for (Value slice : {query, key, value})
    if (isa_and_nonnull<tensor::ExtractSliceOp, memref::SubViewOp>(
            slice.getDefiningOp()))
      result.generatedSlices.push_back(slice.getDefiningOp());
  return result;
}

LogicalResult OnlineAttentionOp::getResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, Mixed &resultOffsets, Mixed &resultSizes) {
  getStatePosition(builder, *this, resultNumber, offsets, sizes, resultOffsets,
                   resultSizes);
  return success();
}
