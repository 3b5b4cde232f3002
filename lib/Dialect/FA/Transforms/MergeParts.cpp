//===- MergeParts.cpp - Results of parts of the keys added ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop of fa-split-keys that adds the parts of a query block to a state,
// and what stores an item of a list that is a whole sequence. Read `addParts`,
// then `buildMerge`.
//
//===----------------------------------------------------------------------===//

#include "KeySplitter.h"
#include "MergedColumns.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/IR/SoleReader.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

/// A state of no keys.
SmallVector<Value> KeySplitter::createState(int64_t rows, int64_t columns) {
  auto fill = [&](ArrayRef<int64_t> sizes, float value) {
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getF32Type());
    Value constant = arith::ConstantFloatOp::create(
        rewriter, loc, rewriter.getF32Type(), APFloat(value));
    return linalg::FillOp::create(rewriter, loc, constant, empty).getResult(0);
  };
  Value output = fill({rows, columns}, 0.0f);
  Value maximum = fill({rows}, -std::numeric_limits<float>::infinity());
  return {output, maximum, fill({rows}, 0.0f)};
}

/// Rows of a merged block. On a GPU it has no products, and small blocks keep
/// more of it busy; a warp has 16 rows.
int64_t KeySplitter::getMergedRows() {
  if (!isOnGPU())
    return config.getQueryBlock();
  return tiler.getQueryBlock() <= 16 ? 16 : 64;
}

/// Columns of a merged block on a GPU. Few query blocks have many parts: few
/// columns keep all multiprocessors busy. Listed sequences have few parts of
/// many rows: all blocks are at work at once.
int64_t KeySplitter::getMergedColumns() {
  int64_t headDim = getHeadDim(), most = plan ? 64 : 16;
  for (int64_t columns : {most, int64_t(32)})
    if (isOnGPU() && headDim % columns == 0)
      return columns;
  return isOnGPU() && headDim > mostMergedColumns ? leastMergedColumns
                                                  : headDim;
}

/// `count` columns of a slice.
Value KeySplitter::takeColumns(Value slice, DimsAttr order, Value first,
                               int64_t count) {
  return createSliceOf(rewriter, loc, slice, order, DimKind::HeadDim, first,
                       rewriter.getIndexAttr(count));
}

/// All columns where `columnBlock` is null.
void KeySplitter::buildMerge(const TilePlace &place, int64_t block,
                             Value columnBlock, const PartsPlan::Merge *merge) {
  Value batch = place.batch, head = place.head;
  SequenceTiler::Rows rows = tiler.findTileRows(place, block);
  // One part is the result already.
  Value count = merge ? merge->parts : tiler.toValue(parts);
  Value isSplit, all = plan ? tiler.toValue(rows.count) : Value();
  if (plan) {
    isSplit = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ugt,
                                    count, tiler.index(1));
    count = tiler.select(isSplit, count, tiler.index(0));
    rows.count = tiler.select(isSplit, all, tiler.index(0));
  }
  int64_t stateRows = getMergedRows(), headDim = getMergedColumns();
  Value column;
  auto take = [&](Value slice, DimsAttr order) {
    return column ? takeColumns(slice, order, column, headDim) : slice;
  };
  SmallVector<Value> state = createState(stateRows, headDim);
  TileResults results = tiler.getResults(batch);
  if (columnBlock)
    column =
        arith::MulIOp::create(rewriter, loc, columnBlock, tiler.index(headDim),
                              arith::IntegerOverflowFlags::nsw);
  DimsAttr order = results.output.order;
  Value output = take(tiler.sliceOutput(results, rows, head), order);
  // One block of columns writes what rows have once.
  SequenceTiler::Rows ofRows = rows;
  if (columnBlock && op.getLse()) {
    Value isFirst = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, columnBlock, tiler.index(0));
    ofRows.count =
        plan ? tiler.select(tiler.both(isFirst, isSplit), all, tiler.index(0))
             : tiler.select(isFirst, tiler.toValue(rows.count), tiler.index(0));
  }
  Value lse = tiler.sliceLse(results, ofRows, head);
  auto loop = scf::ForOp::create(rewriter, loc, tiler.index(0), count,
                                 tiler.index(1), state);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value part = loop.getInductionVar();
    TileResults partial =
        merge ? getResults(
                    arith::AddIOp::create(rewriter, loc, merge->firstSlot, part,
                                          arith::IntegerOverflowFlags::nsw)
                        .getResult())
              : getResults(batch, part);
    auto added = AddPartialOp::create(
        rewriter, loc,
        take(tiler.sliceOutput(partial, rows, head), partial.output.order),
        tiler.sliceLse(partial, rows, head), loop.getRegionIterArgs());
    scf::YieldOp::create(rewriter, loc, added->getResults());
  }
  FinalizeOp::create(rewriter, loc, TypeRange(), loop.getResult(0),
                     loop.getResult(1), loop.getResult(2), output, lse,
                     /*rows=*/Value(), /*sink=*/Value(),
                     order.isDefault() ? DimsAttr() : order);
}

void KeySplitter::addParts() {
  int64_t block = std::min(tiler.getQueryBlock(), getMergedRows());
  int64_t columnBlocks = getHeadDim() / getMergedColumns();
  bool cuts = columnBlocks > 1;
  SmallVector<OpFoldResult> before;
  if (cuts)
    before.push_back(rewriter.getIndexAttr(columnBlocks));
  OpFoldResult batches =
      plan ? getAsOpFoldResult(plan->countMerges()) : tiler.countBatches();
  scf::ForallOp loop = tiler.createLoop(before, block, batches);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop.getTerminator());
  SmallVector<Value> indices = loop.getInductionVars();
  TilePlace place =
      tiler.findPlace(ValueRange(indices).drop_front(cuts), block);
  Value columnBlock = cuts ? indices.front() : Value();
  if (!plan) {
    buildMerge(place, block, columnBlock, /*merge=*/nullptr);
    return;
  }
  PartsPlan::Merge merge = plan->getMerge(place.batch);
  place.batch = merge.sequence;
  buildMerge(place, block, columnBlock, &merge);
}

/// An item of all keys of its sequence, whose result the merge leaves alone, is
/// the result.
void KeySplitter::storeWhole(const PartsPlan::Item &item) {
  int64_t block = tiler.getQueryBlock();
  TilePlace place{item.sequence, item.head, item.query, /*isListed=*/true};
  SequenceTiler::Rows stored = tiler.findTileRows(place, block);
  place.isListed = false;
  SequenceTiler::Rows rows = tiler.findTileRows(place, block);
  auto compare = [&](arith::CmpIPredicate by, Value a, Value b) -> Value {
    return arith::CmpIOp::create(rewriter, loc, by, a, b);
  };
  Value isItem = compare(
      arith::CmpIPredicate::slt, item.query,
      tiler.getSize(op.getQuery(), op.getQueryOrder(), DimKind::Sequence));
  Value isFirst =
      compare(arith::CmpIPredicate::eq, item.firstKey, tiler.index(0));
  Value isAll = tiler.isAtMost(tiler.findKeys(item.sequence).count, item.keys);
  Value isWhole = tiler.both(tiler.both(isFirst, isAll), isItem);
  TileResults partial = getResults(item.slot),
              results = tiler.getResults(item.sequence);
  auto added = AddPartialOp::create(
      rewriter, loc, tiler.sliceOutput(partial, stored, item.head),
      tiler.sliceLse(partial, stored, item.head),
      ValueRange(createState(config.getQueryBlock(), getHeadDim())));
  rows.count = tiler.select(isWhole, tiler.toValue(rows.count), tiler.index(0));
  DimsAttr order = results.output.order;
  auto result = FinalizeOp::create(
      rewriter, loc, TypeRange(), added->getResult(0), added->getResult(1),
      added->getResult(2), tiler.sliceOutput(results, rows, item.head),
      tiler.sliceLse(results, rows, item.head), /*rows=*/Value(),
      /*sink=*/Value(), order.isDefault() ? DimsAttr() : order);
  result->setAttr(soleReaderAttrName, rewriter.getUnitAttr());
}
