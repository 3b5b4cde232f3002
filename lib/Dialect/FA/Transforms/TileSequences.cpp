//===- TileSequences.cpp - Query blocks of packed and paged sequences -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes attention on packed sequences or pages a parallel loop over (batch,
// head, query block) around attention on views of one sequence: slices of the
// rows where they lie one behind the other, fa.paged_rows where they do not. A
// sequence whose starts, lengths or pages are none that can be has no keys, and
// a sink of NaN. Read `SequenceTiler::tile`, then `findSequence`.
//
//===----------------------------------------------------------------------===//

#include "TileSequences.h"
#include "SequenceViews.h"
#include "fa/Dialect/FA/IR/PartialResults.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
class SequenceTiler : SequenceViews {
public:
  SequenceTiler(RewriterBase &rewriter, AttentionOp op)
      : SequenceViews(rewriter, op.getLoc()), op(op) {}

  scf::ForallOp tile();

private:
  bool isOnDevice();
  Value countPages();
  Value getMostQueries();
  Value hasPages(Value batch, Value count);
  Value getKeys(Value operand, DimsAttr order, const RowView &view, Value batch,
                const SequenceRows &rows, OpFoldResult head);
  void buildTile(ValueRange place, int64_t block);

  AttentionOp op;
  RowView query, key, value, output;
  Value lse;
};
} // namespace

/// What the device knows the host does not.
bool SequenceTiler::isOnDevice() {
  TargetConfigAttrInterface target = op.getConfigAttr().getTarget();
  return target && target.getTargetName() != "cpu";
}

/// The pages that both pools have.
Value SequenceTiler::countPages() {
  return arith::MinSIOp::create(
      rewriter, loc, getSize(op.getKey(), op.getKeyOrder(), DimKind::Page),
      getSize(op.getValue(), op.getValueOrder(), DimKind::Page));
}

/// Whether the pages of the first `count` keys of a sequence are of the pools.
Value SequenceTiler::hasPages(Value batch, Value count) {
  Value rows = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  Value pages = countPages();
  Value used = arith::CeilDivSIOp::create(rewriter, loc, count, rows);
  Value all = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
  auto loop = scf::ForOp::create(rewriter, loc, index(0), used, index(1), all);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  Value page = load(op.getKeyPages(), {batch, loop.getInductionVar()});
  Value isPage = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                       page, pages);
  Value so = both(loop.getRegionIterArg(0), isPage);
  scf::YieldOp::create(rewriter, loc, so);
  return loop.getResult(0);
}

/// The most queries that a sequence has.
Value SequenceTiler::getMostQueries() {
  Value rows = getSize(op.getQuery(), op.getQueryOrder(), DimKind::Sequence);
  // For all that the host knows all rows are of one sequence.
  if (!op.getQueryStarts() || isOnDevice())
    return rows;
  Value one = index(1), zero = index(0);
  Value end = memref::DimOp::create(rewriter, loc, op.getQueryStarts(), 0);
  Value batches = arith::SubIOp::create(rewriter, loc, end, one);
  auto loop = scf::ForOp::create(rewriter, loc, zero, batches, one, zero);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  SequenceRows sequence =
      findRows(op.getQueryStarts(), op.getQueryLengths(), rows,
               loop.getInductionVar(), /*keepRows=*/true);
  Value most = arith::MaxSIOp::create(rewriter, loc, loop.getRegionIterArg(0),
                                      sequence.count);
  scf::YieldOp::create(rewriter, loc, most);
  return loop.getResult(0);
}

Value SequenceTiler::getKeys(Value operand, DimsAttr order, const RowView &view,
                             Value batch, const SequenceRows &rows,
                             OpFoldResult head) {
  if (!op.getKeyPages())
    return slice(view, batch, rows, rewriter.getIndexAttr(0),
                 getAsOpFoldResult(rows.count), head);
  auto pool = cast<MemRefType>(operand.getType());
  int64_t headDim = pool.getDimSize(order.positionOf(DimKind::HeadDim));
  int64_t dynamic = ShapedType::kDynamic;
  auto type =
      MemRefType::get({1, dynamic, 1, headDim}, pool.getElementType(),
                      StridedLayoutAttr::get(op.getContext(), dynamic,
                                             {dynamic, dynamic, dynamic, 1}),
                      pool.getMemorySpace());
  return PagedRowsOp::create(rewriter, loc, type, operand, toValue(head),
                             op.getKeyPages(), batch, rows.count, order);
}

void SequenceTiler::buildTile(ValueRange place, int64_t block) {
  Value batch = place[0], head = place[1], first = place[2];
  SequenceRows queries = findRows(
      op.getQueryStarts(), op.getQueryLengths(),
      getSize(op.getQuery(), op.getQueryOrder(), DimKind::Sequence), batch,
      /*keepRows=*/true);
  Value capacity = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  if (Value pages = op.getKeyPages()) {
    Value most = memref::DimOp::create(rewriter, loc, pages, 1);
    capacity = arith::MulIOp::create(rewriter, loc, most, capacity);
  }
  SequenceRows keys = findRows(op.getKeyStarts(), op.getKeyLengths(), capacity,
                               batch, /*keepRows=*/false);
  Value isValid = keys.isValid;
  if (queries.isValid)
    isValid = isValid ? both(isValid, queries.isValid) : queries.isValid;
  if (op.getKeyPages())
    isValid = both(isValid, hasPages(batch, keys.count));
  keys.count = select(isValid, keys.count, index(0));

  // The last block of a short sequence, and those behind it, have fewer rows.
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  OpFoldResult begin = affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 2, {s0, s1}, rewriter.getContext()),
      {first, queries.count});
  OpFoldResult rows = affine::makeComposedFoldedAffineMin(
      rewriter, loc,
      AffineMap::get(0, 2, {rewriter.getAffineConstantExpr(block), s0 - s1},
                     rewriter.getContext()),
      {queries.count, begin});

  OpFoldResult keyHead = getKeyHead(rewriter, op, head);
  Value tileQuery = slice(query, batch, queries, begin, rows, head);
  Value tileKey =
      getKeys(op.getKey(), op.getKeyOrder(), key, batch, keys, keyHead);
  Value tileValue =
      getKeys(op.getValue(), op.getValueOrder(), value, batch, keys, keyHead);
  Value tileOutput = slice(output, batch, queries, begin, rows, head);
  Value tileLse;
  if (lse)
    tileLse = sliceNumbers(lse, op.getQueryStarts() ? Value() : batch, queries,
                           begin, rows, head);
  bool isPaged = static_cast<bool>(op.getKeyPages());
  auto getOrder = [&](const RowView &view) {
    return view.order.isDefault() ? DimsAttr() : view.order;
  };
  auto tile = AttentionOp::create(
      rewriter, loc, TypeRange(), tileQuery, tileKey, tileValue, op.getScale(),
      /*query_lengths=*/Value(), /*key_lengths=*/Value(),
      /*query_starts=*/Value(), /*key_starts=*/Value(), /*key_pages=*/Value(),
      ValueRange{batch, head, toValue(begin), index(0)},
      ValueRange{queries.count, keys.count}, op.getScoreCaptures(),
      op.getMaskCaptures(), op.getSinkCaptures(), tileOutput, tileLse,
      getOrder(query), isPaged ? DimsAttr() : getOrder(key),
      isPaged ? DimsAttr() : getOrder(value), getOrder(output),
      op.getConfigAttr(), op.getBatchInvariantAttr());
  IRMapping mapping;
  op.getScore().cloneInto(&tile.getScore(), mapping);
  op.getMask().cloneInto(&tile.getMask(), mapping);
  op.getSink().cloneInto(&tile.getSink(), mapping);
  // Rows of a broken sequence are NaN: so is their sink, and they have no keys.
  keepSinkWhere(rewriter, tile, isValid,
                APFloat::getQNaN(APFloat::IEEEsingle()));
}

scf::ForallOp SequenceTiler::tile() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  query = view(op.getQuery(), op.getQueryOrder());
  output = view(op.getOutput(), op.getOutputOrder());
  if (!op.getKeyPages()) {
    key = view(op.getKey(), op.getKeyOrder());
    value = view(op.getValue(), op.getValueOrder());
  }
  lse = op.getLse();
  if (lse && op.getQueryStarts())
    lse = addBatch(lse);
  OpFoldResult batches =
      countSequences(op.getQueryStarts(), op.getQuery(), op.getQueryOrder());
  int64_t block = op.getConfigAttr().getQueryBlock();
  // Fewer queries than a block make one block with a static size.
  int64_t queries =
      cast<ShapedType>(op.getQuery().getType())
          .getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
  if (!op.getQueryStarts() && !ShapedType::isDynamic(queries))
    block = std::clamp<int64_t>(queries, 1, block);
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  OpFoldResult heads = getMixedSize(rewriter, loc, op.getQuery(),
                                    op.getQueryOrder(), DimKind::Heads);
  auto loop = scf::ForallOp::create(
      rewriter, loc, {zero, zero, zero},
      {batches, heads, getAsOpFoldResult(getMostQueries())},
      {one, one, rewriter.getIndexAttr(block)}, ValueRange(), std::nullopt);
  rewriter.setInsertionPoint(loop.getTerminator());
  buildTile(loop.getInductionVars(), block);
  rewriter.eraseOp(op);
  return loop;
}

FailureOr<scf::ForallOp> mlir::fa::tileSequences(RewriterBase &rewriter,
                                                 AttentionOp op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError() << "query has type " << op.getQuery().getType()
                            << ", expected memrefs to tile packed sequences or "
                               "pages; fa-results-to-out-parameters makes them";
  return SequenceTiler(rewriter, op).tile();
}
