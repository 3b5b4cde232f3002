//===- GradientRows.cpp - Numbers of each query row -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientTiler.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace mlir::fa;

/// Rows of the products of two warps, which copy them together.
static constexpr int64_t rowsOfTwoWarps = 32;

/// Rows whose numbers a block prepares: on a GPU as many as the products' or,
/// where warps cannot copy these in pairs, those of one pair.
int64_t GradientTiler::getPreparedBlock() {
  int64_t block = getBlock(queries, keysConfig.getQueryBlock());
  return hasWholeBlocks && block % rowsOfTwoWarps ? rowsOfTwoWarps : block;
}

/// Whole blocks of products and of those that prepare them.
int64_t GradientTiler::getBlockOfNumbers() {
  return std::lcm(getBlock(queries, keysConfig.getQueryBlock()),
                  getPreparedBlock());
}

/// At least one block, so that each visit of queries has one to read.
OpFoldResult GradientTiler::padRows() {
  if (!hasWholeBlocks)
    return queries;
  int64_t block = getBlockOfNumbers();
  Value size = toValue(rewriter.getIndexAttr(block));
  if (queryStarts)
    return getAsOpFoldResult(rewriter.createOrFold<arith::MulIOp>(
        loc, getSlots(RowKind::queries, block).countSlots(), size));
  if (std::optional<int64_t> known = getConstantIntValue(queries))
    return rewriter.getIndexAttr(
        llvm::alignTo(std::max<int64_t>(*known, 1), block));
  Value one = toValue(rewriter.getIndexAttr(1));
  Value rows =
      rewriter.createOrFold<arith::MaxUIOp>(loc, toValue(queries), one);
  Value blocks = rewriter.createOrFold<arith::CeilDivUIOp>(loc, rows, size);
  return getAsOpFoldResult(
      rewriter.createOrFold<arith::MulIOp>(loc, blocks, size));
}

Value GradientTiler::allocate(OpFoldResult rows) {
  Value memory = memref::AllocOp::create(
      rewriter, loc,
      SmallVector<OpFoldResult>{
          queryStarts ? rewriter.getIndexAttr(1) : batches, heads, rows},
      rewriter.getF32Type());
  workspaces.push_back(memory);
  return memory;
}

void GradientTiler::loopOverNumbers(OpFoldResult rows, int64_t block,
                                    Body body) {
  if (queryStarts)
    return loopOverSlots(heads, RowKind::queries, getBlockOfNumbers(), block,
                         body);
  loop(heads, RowKind::queries, rows, block, {true, true, true}, body);
}

/// Sums of whole blocks. Nobody reads those of a block without rows, as there
/// are behind the last one of a list.
OpFoldResult GradientTiler::countCleared(OpFoldResult count, int64_t block) {
  if (lists.empty())
    return rewriter.getIndexAttr(block);
  SequenceViews views(rewriter, loc);
  Value none = views.index(0);
  Value isNone = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       toValue(count), none);
  return views.select(isNone, none, views.index(block));
}

void GradientTiler::prepare(bool hasSums) {
  int64_t block = getPreparedBlock();
  OpFoldResult padded = padRows();
  ConfigAttr preparedBy = keysConfig;
  if (block != keysConfig.getQueryBlock() && hasWholeBlocks)
    preparedBy = ConfigAttr::get(
        rewriter.getContext(), block, keysConfig.getKeyBlock(), /*keySplits=*/1,
        keysConfig.getDeterministic(), keysConfig.getTarget());
  delta = allocate(padded);
  reference = allocate(padded);
  if (hasSums) {
    AffineExpr s0 = rewriter.getAffineSymbolExpr(0);
    AffineExpr s1 = rewriter.getAffineSymbolExpr(1);
    sums = allocate(affine::makeComposedFoldedAffineApply(
        rewriter, loc, s0 * s1,
        {padded, size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim)}));
  }
  auto prepareBlock = [&](const BatchItem &item, Value head, Value firstRow) {
    SequenceBlock rows =
        getSequenceBlock(firstRow, item.queries, block, op.getOffsets()[2],
                         /*end=*/padded);
    auto ofRows = [&](Value numbers) {
      return numbers
                 ? sliceRows(numbers, item.queries.batch, head,
                             add(item.queries.first, rows.first), rows.count)
                 : Value();
    };
    auto ofTile = [&](Value tile, DimsAttr order) {
      return slice(tile, order, item.queries, rows.first, rows.count, head);
    };
    Value cleared;
    if (sums)
      cleared = slice(viewSums(padded), getQuerySumsOrder(), item.queries.batch,
                      getBlockNumber(item, firstRow),
                      countCleared(rows.count, block), head);
    Value output, outputGradient;
    if (op.getOutput()) {
      output = ofTile(op.getOutput(), op.getOutputOrder());
      outputGradient =
          ofTile(op.getOutputGradient(), op.getOutputGradientOrder());
    }
    auto prepared = [&](Value numbers) {
      return sliceRows(numbers, item.queries.batch, head,
                       getBlockNumber(item, firstRow), rows.count);
    };
    PrepareGradientOp::create(
        rewriter, loc, output, outputGradient, ofRows(op.getDelta()),
        ofRows(op.getLse()), ofRows(op.getLseGradient()), prepared(delta),
        prepared(reference), cleared, toValue(rows.valid),
        op.getOutputDimsAttr(), op.getOutputGradientDimsAttr(), preparedBy);
  };
  loopOverNumbers(padded, block, prepareBlock);
}
