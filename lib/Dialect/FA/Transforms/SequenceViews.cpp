//===- SequenceViews.cpp - Where the rows of a sequence are ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SequenceViews.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Support/ParallelSums.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

Value SequenceViews::toValue(OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(rewriter, loc, value);
}

Value SequenceViews::getSize(Value operand, DimsAttr order, DimKind kind) {
  return toValue(getMixedSize(rewriter, loc, operand, order, kind));
}

Value SequenceViews::load(Value table, ValueRange indices) {
  Value entry = memref::LoadOp::create(rewriter, loc, table, indices);
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                    entry);
}

SequenceRows SequenceViews::findRows(Value starts, Value lengths,
                                     Value capacity, Value batch,
                                     bool keepRows) {
  Value zero = index(0);
  SequenceRows rows{zero, capacity, {}};
  if (starts) {
    Value next = arith::AddIOp::create(rewriter, loc, batch, index(1));
    Value first = load(starts, batch), end = load(starts, next);
    rows.isValid = both(both(isAtMost(zero, first), isAtMost(first, end)),
                        isAtMost(end, capacity));
    rows.first = select(rows.isValid, first, zero);
    Value count = arith::SubIOp::create(rewriter, loc, end, first);
    rows.count = select(rows.isValid, count, zero);
  }
  if (lengths) {
    Value length = load(lengths, batch);
    Value fits = both(isAtMost(zero, length), isAtMost(length, rows.count));
    rows.count = select(fits, length, keepRows ? rows.count : zero);
    rows.isValid = rows.isValid ? both(rows.isValid, fits) : fits;
  }
  return rows;
}

Value SequenceViews::addBatch(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, type.getShape());
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dim = 2; dim <= type.getRank(); ++dim)
    groups.push_back({dim});
  SmallVector<OpFoldResult> sizes = {rewriter.getIndexAttr(1)};
  llvm::append_range(sizes, memref::getMixedSizes(rewriter, loc, memory));
  return memref::ExpandShapeOp::create(rewriter, loc, shape, memory, groups,
                                       sizes);
}

/// Counts the pages that are none, side by side.
Value SequenceViews::isAnyPageWrong(Value table, Value batch, Value first,
                                    Value end, Value inPools) {
  auto word = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(rewriter, loc, number, /*width=*/32);
  };
  Value zero = word(0), one = word(1);
  auto count = [&](OpBuilder &, Value number) -> SmallVector<Value> {
    Value page = load(table, {batch, number});
    // A negative number is a large one here.
    Value isNone = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::uge, page, inPools);
    return {select(isNone, one, zero)};
  };
  Value counted =
      createParallelSums(rewriter, loc, first, end, /*count=*/1, count).front();
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, counted,
                               zero);
}

OpFoldResult SequenceViews::countSequences(Value starts, Value operand,
                                           DimsAttr order) {
  if (!starts)
    return getMixedSize(rewriter, loc, operand, order, DimKind::Batch);
  AffineExpr s0;
  bindSymbols(rewriter.getContext(), s0);
  return affine::makeComposedFoldedAffineApply(
      rewriter, loc, s0 - 1, {getMixedSize(rewriter, loc, starts, 0)});
}

RowView SequenceViews::view(Value operand, DimsAttr order) {
  if (order.getRank() == 4)
    return {operand, order};
  Value expanded = addBatch(operand);
  SmallVector<int64_t> kinds = {static_cast<int64_t>(DimKind::Batch)};
  llvm::append_range(kinds, order.getOrder());
  return {expanded, DimsAttr::get(rewriter.getContext(), kinds)};
}

Value SequenceViews::slice(const RowView &view, Value batch,
                           const SequenceRows &rows, OpFoldResult first,
                           OpFoldResult count, OpFoldResult head,
                           OpFoldResult heads) {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  if (!heads)
    heads = one;
  OpFoldResult headDim =
      getMixedSize(rewriter, loc, view.memory, view.order, DimKind::HeadDim);
  bool isPacked = cast<MemRefType>(view.memory.getType())
                      .getDimSize(view.order.positionOf(DimKind::Batch)) == 1;
  OpFoldResult row =
      addSizes(rewriter, loc, getAsOpFoldResult(rows.first), first);
  DimValues offsets{isPacked ? zero : OpFoldResult(batch), row, head, zero};
  DimValues sizes{one, count, heads, headDim};
  return createSlice(rewriter, loc, view.memory, offsets.inOrder(view.order),
                     sizes.inOrder(view.order));
}

Value SequenceViews::sliceNumbers(Value numbers, Value batch,
                                  const SequenceRows &rows, OpFoldResult first,
                                  OpFoldResult count, OpFoldResult head,
                                  OpFoldResult heads) {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  OpFoldResult row =
      addSizes(rewriter, loc, getAsOpFoldResult(rows.first), first);
  return createSlice(rewriter, loc, numbers,
                     {batch ? OpFoldResult(batch) : zero, head, row},
                     {one, heads ? heads : one, count});
}
