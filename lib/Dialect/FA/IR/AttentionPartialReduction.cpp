//===- AttentionPartialReduction.cpp - Splitting the keys of attention ---===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PartialReductionOpInterface of fa.attention, for upstream's
// `tile_reduction_using_forall`. The interface maps each result to one partial
// value, and merging needs the lse, so the operation must return it.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/PartialResults.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::fa;

using Mixed = SmallVector<OpFoldResult>;

// Position of the keys among the loops of fa.attention.
static constexpr unsigned keyLoop = 3;

static LogicalResult checkPartialReduction(AttentionOp op) {
  if (op.isRagged())
    return op.emitOpError("has packed sequences or pages, expected neither for "
                          "partial reduction: parts of keys are slices");
  if (!isa<RankedTensorType>(op.getQuery().getType()))
    return op.emitOpError() << "query has type " << op.getQuery().getType()
                            << ", expected tensors for partial reduction; "
                               "fa-split-kv splits memrefs";
  if (!op.getLse())
    return op.emitOpError()
           << "has no lse, expected one: partial results are merged by it";
  return success();
}

FailureOr<SmallVector<Value>>
AttentionOp::generateInitialTensorForPartialReduction(
    OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> tileSizes,
    const SetVector<unsigned> &reductionDims) {
  if (failed(checkPartialReduction(*this)))
    return failure();
  // Every part writes all of its slice, so there is nothing to fill.
  auto [outputs, lses] =
      getPartialResultSizes(builder, *this, tileSizes[keyLoop]);
  Type f32 = builder.getF32Type();
  return SmallVector<Value>{tensor::EmptyOp::create(builder, loc, outputs, f32),
                            tensor::EmptyOp::create(builder, loc, lses, f32)};
}

FailureOr<TilingResult> AttentionOp::tileToPartialReduction(
    OpBuilder &builder, Location loc, ReductionTilingStrategy strategy,
    ValueRange inits, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &reductionDims,
    ArrayRef<OpFoldResult> splitReductionIvs) {
  if (strategy != ReductionTilingStrategy::PartialReductionOuterParallel)
    return emitOpError() << "has parts of keys that are computed on their own, "
                            "expected a parallel outer loop";
  Value output =
      createLeadingSlice(builder, loc, inits[0], splitReductionIvs.front());
  Value lse =
      createLeadingSlice(builder, loc, inits[1], splitReductionIvs.front());
  AttentionOp partial =
      createPartialAttention(builder, *this, offsets[keyLoop], sizes[keyLoop],
                             splitReductionIvs.front(), output, lse);
  return TilingResult{
      {partial}, llvm::to_vector_of<Value>(partial->getResults()), {}};
}

FailureOr<MergeResult>
AttentionOp::mergeReductions(OpBuilder &builder, Location loc,
                             ValueRange partialResults,
                             const SetVector<unsigned> &reductionDims) {
  int64_t parts = cast<ShapedType>(partialResults[0].getType()).getDimSize(0);
  if (ShapedType::isDynamic(parts) || parts < 2)
    return emitOpError() << "keys are in "
                         << (ShapedType::isDynamic(parts)
                                 ? std::string("a dynamic number of")
                                 : std::to_string(parts))
                         << " parts, expected a static number of at least 2";
  CombineOp combine = combinePartialResults(
      builder, *this, {partialResults[0], partialResults[1]}, parts);
  return MergeResult{{combine},
                     llvm::to_vector_of<Value>(combine->getResults())};
}

LogicalResult AttentionOp::getPartialResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ReductionTilingStrategy strategy,
    ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &reductionDims,
    ArrayRef<OpFoldResult> splitReductionIvs, Mixed &resultOffsets,
    Mixed &resultSizes) {
  auto [outputs, lses] =
      getPartialResultSizes(builder, *this, builder.getIndexAttr(1));
  resultSizes = resultNumber == 0 ? outputs : lses;
  resultOffsets.assign(resultSizes.size(), builder.getIndexAttr(0));
  resultOffsets[0] = splitReductionIvs.front();
  return success();
}
