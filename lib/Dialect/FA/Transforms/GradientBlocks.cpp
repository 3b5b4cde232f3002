//===- GradientBlocks.cpp - Loops and slices of a gradient ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all loops of a gradient are made with, in the order of use: the loops
// around a block (`loop`), its place in the sequence (`getSequenceBlock`),
// slices of operands, zeros to add to, and the store of a finished block
// (`finalize`).
//
//===----------------------------------------------------------------------===//

#include "GradientTiler.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

void GradientTiler::loop(OpFoldResult headCount, RowKind kind,
                         OpFoldResult rows, int64_t block,
                         std::array<bool, 3> isParallel, Body body) {
  if (kind == RowKind::queries ? queryStarts : keyStarts)
    return loopOverSlots(headCount, kind, block, block, body);
  OpBuilder::InsertionGuard guard(rewriter);
  OpFoldResult ends[] = {batches, headCount, rows};
  int64_t steps[] = {1, 1, block};
  SmallVector<OpFoldResult> begins, limits, strides;
  for (auto [end, step, parallel] : llvm::zip_equal(ends, steps, isParallel)) {
    if (!parallel)
      continue;
    begins.push_back(rewriter.getIndexAttr(0));
    limits.push_back(end);
    strides.push_back(rewriter.getIndexAttr(step));
  }
  SmallVector<Value> indices(3);
  ValueRange ofParallel;
  if (!limits.empty()) {
    auto forall = scf::ForallOp::create(rewriter, loc, begins, limits, strides,
                                        /*outputs=*/ValueRange(),
                                        getMapping(limits.size()));
    ofParallel = forall.getInductionVars();
    rewriter.setInsertionPoint(forall.getTerminator());
  }
  for (unsigned dim = 0, next = 0; dim < 3; ++dim) {
    if (isParallel[dim]) {
      indices[dim] = ofParallel[next++];
      continue;
    }
    auto sequential = scf::ForOp::create(
        rewriter, loc, toValue(rewriter.getIndexAttr(0)), toValue(ends[dim]),
        toValue(rewriter.getIndexAttr(steps[dim])));
    indices[dim] = sequential.getInductionVar();
    rewriter.setInsertionPoint(sequential.getBody()->getTerminator());
  }
  body(findItem(indices[0]), indices[1], indices[2]);
}

/// `offset` is where the operand begins in the problem.
SequenceBlock GradientTiler::getSequenceBlock(Value first, const ItemRows &rows,
                                              int64_t block, Value offset,
                                              OpFoldResult end) {
  OpFoldResult total = rows.room;
  MLIRContext *context = rewriter.getContext();
  AffineExpr s0, s1;
  bindSymbols(context, s0, s1);
  SequenceBlock result;
  result.first = first;
  if (rows.isSequence)
    result.first = affine::makeComposedFoldedAffineMin(
        rewriter, loc, AffineMap::get(0, 2, {s0, s1}, context), {first, total});
  std::optional<int64_t> known = getConstantIntValue(total);
  // Of blocks up to another end some may begin where no row is left.
  bool areWhole = known && *known % block == 0 &&
                  (!end || getConstantIntValue(end) == known);
  if (areWhole)
    result.count = rewriter.getIndexAttr(block);
  else
    result.count = affine::makeComposedFoldedAffineMin(
        rewriter, loc,
        AffineMap::get(0, 2, {getAffineConstantExpr(block, context), s1 - s0},
                       context),
        {result.first, total});
  result.valid =
      rows.hasLength
          ? getValidCount(result.count,
                          add(getAsOpFoldResult(offset), result.first),
                          rows.length)
          : result.count;
  return result;
}

/// How many of `count` rows from `first` of the problem on are below `length`.
OpFoldResult GradientTiler::getValidCount(OpFoldResult count,
                                          OpFoldResult first, Value length) {
  MLIRContext *context = rewriter.getContext();
  AffineExpr s0, s1;
  bindSymbols(context, s0, s1);
  // In a form whose bound, that of the count, later passes know.
  OpFoldResult left = affine::makeComposedFoldedAffineMax(
      rewriter, loc,
      AffineMap::get(0, 2, {s0 - s1, getAffineConstantExpr(0, context)},
                     context),
      {getAsOpFoldResult(length), first});
  return affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 2, {s0, s1}, context), {count, left});
}

Value GradientTiler::slice(Value operand, DimsAttr order, const ItemRows &rows,
                           OpFoldResult first, OpFoldResult count,
                           OpFoldResult head) {
  return slice(operand, order, rows.batch, add(rows.first, first), count, head);
}

Value GradientTiler::slice(Value operand, DimsAttr order, OpFoldResult batch,
                           OpFoldResult first, OpFoldResult count,
                           OpFoldResult head) {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  DimValues offsets{batch, first, head, zero};
  DimValues sizes{one, count, one, size(operand, order, DimKind::HeadDim)};
  return createSlice(rewriter, loc, operand, offsets.inOrder(order),
                     sizes.inOrder(order));
}

Value GradientTiler::sliceRows(Value rows, OpFoldResult batch, Value head,
                               OpFoldResult first, OpFoldResult count) {
  OpFoldResult one = rewriter.getIndexAttr(1);
  return createSlice(rewriter, loc, rows, {batch, head, first},
                     {one, one, count});
}

/// Of the memory of numbers, in which an item may begin elsewhere.
Value GradientTiler::sliceNumbers(Value numbers, const BatchItem &item,
                                  Value head, OpFoldResult first,
                                  OpFoldResult count) {
  return sliceRows(numbers, item.queries.batch, head,
                   add(item.firstNumber, first), count);
}

Value GradientTiler::createZeros(OpFoldResult rows, Value operand,
                                 DimsAttr order) {
  SmallVector<OpFoldResult> sizes = {rows,
                                     size(operand, order, DimKind::HeadDim)};
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getF32Type());
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0.0f));
  return linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
}

Value GradientTiler::getScale() {
  if (op.getScale())
    return op.getScale();
  return arith::ConstantOp::create(
      rewriter, loc, rewriter.getF32FloatAttr(getDefaultScale(op)));
}

SmallVector<Value> GradientTiler::getOffsets(Value batch, Value head,
                                             OpFoldResult query,
                                             OpFoldResult key) {
  OpFoldResult local[] = {batch, head, query, key};
  SmallVector<Value> offsets;
  for (auto [offset, position] : llvm::zip_equal(op.getOffsets(), local))
    offsets.push_back(toValue(add(getAsOpFoldResult(offset), position)));
  return offsets;
}

Value GradientTiler::getQueryHead(Value keyHead, Value member) {
  if (isEqualConstantIntOrValue(heads, keyHeads))
    return keyHead;
  Value first = rewriter.createOrFold<arith::MulIOp>(loc, keyHead, getGroup());
  return rewriter.createOrFold<arith::AddIOp>(loc, first, member);
}

void GradientTiler::finalize(Value accumulator, Value scale, Value gradient,
                             DimsAttr order, const ItemRows &rows, Value head,
                             const SequenceBlock &block,
                             ConfigAttr withConfig) {
  FinalizeGradientOp::create(
      rewriter, loc, accumulator, scale,
      slice(gradient, order, rows, block.first, block.count, head),
      toValue(block.valid), order.isDefault() ? DimsAttr() : order, withConfig);
}
