//===- GradientItems.cpp - Items of the batch and sequences ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the rows of an item of the batch, or of a packed sequence, lie. Each
// row of packed operands has a gradient: that of rows of no sequence, and past
// a length, is 0, so loops go over slots of all rows. Numbers of query rows
// begin with a block for each sequence.
//
//===----------------------------------------------------------------------===//

#include "GradientTiler.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

/// Gives packed operands a batch of one item.
void GradientTiler::takeViews() {
  queryStarts = op.getQueryStarts();
  keyStarts = op.getKeyStarts();
  SequenceViews views(rewriter, loc);
  batches =
      views.countSequences(queryStarts, op.getQuery(), op.getQueryOrder());
  auto take = [&](MutableOperandRange operands, DimsAttr order,
                  function_ref<void(DimsAttr)> setOrder) {
    for (OpOperand &operand : operands) {
      RowView view = views.view(operand.get(), order);
      operand.set(view.memory);
      if (view.order != order)
        setOrder(view.order);
    }
  };
  auto takeNumbers = [&](MutableOperandRange operands) {
    for (OpOperand &operand : operands)
      operand.set(views.addBatch(operand.get()));
  };
  if (queryStarts) {
    take(op.getQueryMutable(), op.getQueryOrder(),
         [&](DimsAttr order) { op.setQueryDimsAttr(order); });
    take(op.getOutputMutable(), op.getOutputOrder(),
         [&](DimsAttr order) { op.setOutputDimsAttr(order); });
    take(op.getOutputGradientMutable(), op.getOutputGradientOrder(),
         [&](DimsAttr order) { op.setOutputGradientDimsAttr(order); });
    take(op.getQueryGradientMutable(), op.getQueryGradientOrder(),
         [&](DimsAttr order) { op.setQueryGradientDimsAttr(order); });
    takeNumbers(op.getLseMutable());
    takeNumbers(op.getDeltaMutable());
    takeNumbers(op.getLseGradientMutable());
  }
  if (keyStarts) {
    take(op.getKeyMutable(), op.getKeyOrder(),
         [&](DimsAttr order) { op.setKeyDimsAttr(order); });
    take(op.getValueMutable(), op.getValueOrder(),
         [&](DimsAttr order) { op.setValueDimsAttr(order); });
    take(op.getKeyGradientMutable(), op.getKeyGradientOrder(),
         [&](DimsAttr order) { op.setKeyGradientDimsAttr(order); });
    take(op.getValueGradientMutable(), op.getValueGradientOrder(),
         [&](DimsAttr order) { op.setValueGradientDimsAttr(order); });
  }
  for (auto [starts, name] :
       {std::pair(queryStarts, "query"), std::pair(keyStarts, "key")}) {
    if (!starts)
      continue;
    Value entries =
        rewriter.createOrFold<memref::DimOp>(loc, starts, int64_t(0));
    cf::AssertOp::create(rewriter, loc, views.isAtMost(views.index(2), entries),
                         std::string(name) +
                             "_starts has no sequence, expected at least one "
                             "for gradients on a GPU");
  }
}

SequenceSlots GradientTiler::getSlots(RowKind kind, int64_t block) {
  bool ofQueries = kind == RowKind::queries;
  return SequenceSlots(rewriter, loc, ofQueries ? queryStarts : keyStarts,
                       toValue(ofQueries ? queries : keys), block,
                       /*allRows=*/true);
}

BatchItem GradientTiler::findItem(Value batch) {
  if (queryStarts || keyStarts)
    return findSequence(batch, std::nullopt);
  OpFoldResult zero = rewriter.getIndexAttr(0);
  BatchItem item;
  item.batch = batch;
  item.firstNumber = zero;
  item.queries = {batch, zero, queries,
                  getLength(op.getQueryLengths(), batch, op.getExtents()[0]),
                  static_cast<bool>(op.getQueryLengths())};
  item.keys = {batch, zero, keys,
               getLength(op.getKeyLengths(), batch, op.getExtents()[1]),
               static_cast<bool>(op.getKeyLengths())};
  return item;
}

/// Of a sequence whose starts cannot be no row is written: others may have it.
/// Nor of no sequence where there is such a one.
void GradientTiler::limitToValid(SequenceViews &views, Value batch,
                                 SlotRows &visited) {
  bool ofQueries = visited.kind == RowKind::queries;
  Value starts = ofQueries ? queryStarts : keyStarts;
  SequenceRows own = views.findRows(starts, /*lengths=*/Value(),
                                    toValue(ofQueries ? queries : keys), batch,
                                    /*keepRows=*/true);
  Value none = views.index(0);
  Value outside = views.select(visited.isSequence, none, visited.room);
  Value areOrdered = getSlots(visited.kind, /*block=*/1)
                         .areOrdered(outside, /*sideBySide=*/areMany);
  outside = views.select(areOrdered, outside, none);
  visited.first = views.select(visited.isSequence, own.first, visited.first);
  visited.room = views.select(visited.isSequence, own.count, outside);
}

/// Operands have rows of the sequence, where it is one that can be; those that
/// a loop goes over have what there is room for, too.
BatchItem GradientTiler::findSequence(Value batch,
                                      std::optional<SlotRows> visited) {
  SequenceViews views(rewriter, loc);
  SequenceRows ofQueries =
      views.findRows(queryStarts, op.getQueryLengths(), toValue(queries), batch,
                     /*keepRows=*/true);
  SequenceRows ofKeys =
      views.findRows(keyStarts, op.getKeyLengths(), toValue(keys), batch,
                     /*keepRows=*/false);
  Value isValid = ofQueries.isValid ? ofQueries.isValid : ofKeys.isValid;
  if (ofQueries.isValid && ofKeys.isValid)
    isValid = views.both(isValid, ofKeys.isValid);
  Value hasPairs = isValid;
  if (visited)
    hasPairs = views.both(hasPairs, visited->isSequence);
  Value none = views.index(0);
  ofKeys.count = views.select(hasPairs, ofKeys.count, none);
  // Queries of a broken sequence get NaN where they are visited themselves.
  bool visitsQueries = visited && visited->kind == RowKind::queries;
  if (!visitsQueries)
    ofQueries.count = views.select(hasPairs, ofQueries.count, none);
  else
    ofQueries.count = views.select(visited->isSequence, ofQueries.count, none);

  if (visited)
    limitToValid(views, batch, *visited);
  BatchItem item;
  item.batch = batch;
  item.isValid = isValid;
  OpFoldResult zero = rewriter.getIndexAttr(0);
  auto get = [&](Value starts, const SequenceRows &rows, OpFoldResult all,
                 RowKind kind) {
    ItemRows result;
    result.batch = starts ? zero : OpFoldResult(batch);
    result.first = starts ? OpFoldResult(rows.first) : zero;
    result.room = all;
    if (visited && visited->kind == kind) {
      result.first = visited->first;
      result.room = visited->room;
    }
    result.length = rows.count;
    result.hasLength = result.isSequence = true;
    return result;
  };
  item.queries = get(queryStarts, ofQueries, queries, RowKind::queries);
  item.keys = get(keyStarts, ofKeys, keys, RowKind::keys);
  item.firstNumber = zero;
  if (queryStarts && lists.empty()) {
    int64_t block = getBlockOfNumbers();
    Value sequence =
        visitsQueries
            ? visited->sequence
            : rewriter.createOrFold<arith::AddIOp>(loc, batch, views.index(1));
    Value slot = getSlots(RowKind::queries, block).getFirstSlot(sequence);
    item.firstNumber = getAsOpFoldResult(
        rewriter.createOrFold<arith::MulIOp>(loc, slot, views.index(block)));
  }
  return item;
}

/// How many rows of an item are valid in the operand, which begins at `offset`
/// in the problem.
OpFoldResult GradientTiler::countRows(const ItemRows &rows, Value offset) {
  if (rows.isSequence)
    return rows.length;
  return rows.hasLength
             ? getValidCount(rows.room, getAsOpFoldResult(offset), rows.length)
             : rows.room;
}

/// Where the numbers of a block of queries begin, which a loop over blocks of
/// numbers visits.
OpFoldResult GradientTiler::getBlockNumber(const BatchItem &item,
                                           Value firstRow) {
  return item.blockNumber ? OpFoldResult(item.blockNumber)
                          : add(item.firstNumber, firstRow);
}

/// The factor of gradients of queries.
Value GradientTiler::getScaleOf(const BatchItem &item) {
  Value scale = getScale();
  if (!item.isValid)
    return scale;
  Value broken = arith::ConstantOp::create(
      rewriter, loc,
      rewriter.getFloatAttr(rewriter.getF32Type(),
                            APFloat::getQNaN(APFloat::IEEEsingle())));
  return arith::SelectOp::create(rewriter, loc, item.isValid, scale, broken);
}

/// The rows of a sequence, by its number among slots.
SlotRows GradientTiler::findSlotRows(RowKind kind, Value sequence) {
  SequenceViews views(rewriter, loc);
  SequenceSlots slots = getSlots(kind, /*block=*/1);
  Value one = views.index(1), zero = views.index(0);
  Value next = make<arith::AddIOp>(sequence, one);
  Value start = slots.getStart(sequence), end = slots.getStart(next);
  Value room = make<arith::SubIOp>(end, start);
  room = make<arith::MaxSIOp>(room, zero);
  Value entries = rewriter.createOrFold<memref::DimOp>(
      loc, kind == RowKind::queries ? queryStarts : keyStarts, int64_t(0));
  Value last = make<arith::SubIOp>(entries, views.index(2));
  Value batch = make<arith::SubIOp>(sequence, one);
  Value isSequence =
      views.both(views.isAtMost(zero, batch), views.isAtMost(batch, last));
  batch = make<arith::MaxSIOp>(batch, zero);
  batch = make<arith::MinSIOp>(batch, last);
  return {kind, sequence, batch, start, room, isSequence};
}

/// A loop over the slots of all rows of packed operands, by parts of a slot.
void GradientTiler::loopOverSlots(OpFoldResult headCount, RowKind kind,
                                  int64_t block, int64_t part, Body body) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (const BlockList *list = findList(kind, block))
    return loopOverList(*list, body);
  Value numHeads = toValue(headCount);
  SequenceSlots slots = getSlots(kind, block);
  SmallVector<OpFoldResult> ends = {slots.countTiles(numHeads)};
  if (part != block)
    ends.push_back(rewriter.getIndexAttr(block / part));
  auto forall = scf::ForallOp::create(
      rewriter, loc, ends, /*outputs=*/ValueRange(), getMapping(ends.size()));
  rewriter.setInsertionPoint(forall.getTerminator());
  SequenceViews views(rewriter, loc);
  TilePlace place = slots.findPlace(forall.getInductionVar(0), numHeads);
  SlotRows visited = findSlotRows(kind, place.batch);
  Value first = place.first;
  Value slot = make<arith::DivUIOp>(forall.getInductionVar(0), numHeads);
  Value number = make<arith::MulIOp>(slot, views.index(block));
  if (part != block) {
    Value inSlot =
        make<arith::MulIOp>(forall.getInductionVar(1), views.index(part));
    first = make<arith::AddIOp>(first, inSlot);
    number = make<arith::AddIOp>(number, inSlot);
  }
  BatchItem item = findSequence(visited.batch, visited);
  item.blockNumber = number;
  item.slot = slot;
  body(item, place.head, first);
}
