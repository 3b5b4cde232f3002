//===- TileSequences.cpp - Query blocks of packed and paged sequences -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes attention on packed sequences or pages a parallel loop over query
// blocks of one head around attention on views of one sequence: slices of the
// rows where they lie one behind the other, fa.paged_rows where they do not. A
// sequence whose starts, lengths or pages are none that can be has no keys, and
// a sink of NaN. Read `tileSequences`, then
// `SequenceTiler::buildTile`.
//
//===----------------------------------------------------------------------===//

#include "TileSequences.h"
#include "SequenceSlots.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Dialect/FA/IR/PartialResults.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "fa/Support/Philox.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

/// Whether fa-plan-work lists the query blocks that there are: till then they
/// are those of all sequences that all rows may be of. Blocks of threads that
/// take one tile after the other go by a list.
static bool isPlanned(AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  auto target = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  return op.getQueryStarts() && target && target.getPart().hasGroups() &&
         !target.getPart().blockTable && !config.splitsKeys();
}

SequenceTiler::SequenceTiler(RewriterBase &rewriter, AttentionOp op)
    : SequenceViews(rewriter, op.getLoc()), op(op) {
  query = view(op.getQuery(), op.getQueryOrder());
  output = view(op.getOutput(), op.getOutputOrder());
  if (!op.getKeyPages()) {
    key = view(op.getKey(), op.getKeyOrder());
    value = view(op.getValue(), op.getValueOrder());
  }
  lse = op.getLse();
  if (lse && op.getQueryStarts())
    lse = addBatch(lse);
}

/// What the device knows the host does not.
bool SequenceTiler::isOnDevice() {
  TargetConfigAttrInterface target = op.getConfigAttr().getTarget();
  return target && target.getTargetName() != "cpu";
}

bool SequenceTiler::copiesSpoilRows() {
  auto target =
      dyn_cast_if_present<GPUConfigAttr>(op.getConfigAttr().getTarget());
  return target &&
         copiesSpoilMissingPages(target.getPart(), op.getKey(),
                                 op.getKeyOrder(), !op.getScore().empty());
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
  // A sequence has no keys in pages without rows.
  rows = rewriter.createOrFold<arith::MaxSIOp>(loc, rows, index(1));
  Value used = arith::CeilDivSIOp::create(rewriter, loc, count, rows);
  // A word, which roles of a kernel can be sent.
  Value yes = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  Value no = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  auto loop = scf::ForOp::create(rewriter, loc, index(0), used, index(1), yes);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  Value page = load(op.getKeyPages(), {batch, loop.getInductionVar()});
  Value isPage = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                       page, pages);
  scf::YieldOp::create(rewriter, loc,
                       select(isPage, loop.getRegionIterArg(0), no));
  rewriter.setInsertionPointAfter(loop);
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                               loop.getResult(0), no);
}

/// The rows of all keys, or those that a sequence has room for.
Value SequenceTiler::getKeyCapacity() {
  Value rows = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  if (!op.getKeyPages())
    return rows;
  Value most = memref::DimOp::create(rewriter, loc, op.getKeyPages(), 1);
  return arith::MulIOp::create(rewriter, loc, most, rows);
}

Value SequenceTiler::getMostKeys() {
  Value starts = op.getKeyStarts(), capacity = getKeyCapacity();
  // For all that the host knows all rows are of one sequence.
  if (!starts || isOnDevice())
    return capacity;
  Value one = index(1), zero = index(0);
  Value end = memref::DimOp::create(rewriter, loc, starts, 0);
  Value batches = arith::SubIOp::create(rewriter, loc, end, one);
  auto loop = scf::ForOp::create(rewriter, loc, zero, batches, one, zero);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  SequenceRows sequence =
      findRows(starts, op.getKeyLengths(), capacity, loop.getInductionVar(),
               /*keepRows=*/false);
  Value most = arith::MaxSIOp::create(rewriter, loc, loop.getRegionIterArg(0),
                                      sequence.count);
  scf::YieldOp::create(rewriter, loc, most);
  return loop.getResult(0);
}

SequenceRows SequenceTiler::findKeys(Value batch) {
  return findRows(op.getKeyStarts(), op.getKeyLengths(), getKeyCapacity(),
                  batch, /*keepRows=*/false);
}

Value SequenceTiler::getKeys(Value operand, DimsAttr order, const RowView &view,
                             Value batch, const SequenceRows &rows,
                             OpFoldResult first, OpFoldResult count,
                             OpFoldResult head) {
  if (!op.getKeyPages())
    return slice(view, batch, rows, first, count, head);
  auto pool = cast<MemRefType>(operand.getType());
  int64_t headDim = pool.getDimSize(order.positionOf(DimKind::HeadDim));
  int64_t dynamic = ShapedType::kDynamic;
  auto type =
      MemRefType::get({1, dynamic, 1, headDim}, pool.getElementType(),
                      StridedLayoutAttr::get(op.getContext(), dynamic,
                                             {dynamic, dynamic, dynamic, 1}),
                      pool.getMemorySpace());
  Value all = PagedRowsOp::create(rewriter, loc, type, operand, toValue(head),
                                  op.getKeyPages(), batch, rows.count, order);
  if (isConstantIntValue(first, 0))
    return all;
  return createSliceOf(rewriter, loc, all,
                       DimsAttr::getDefault(op.getContext()), DimKind::Sequence,
                       first, count);
}

SequenceTiler::Rows SequenceTiler::findTileRows(const TilePlace &place,
                                                int64_t block) {
  Rows tile;
  tile.queries = findRows(op.getQueryStarts(), op.getQueryLengths(),
                          countQueries(), place.batch, /*keepRows=*/true);
  // One block of all rows has a static size.
  if (!op.getQueryStarts() && !op.getQueryLengths() &&
      isConstantIntValue(getAsOpFoldResult(tile.queries.count), block)) {
    tile.first = rewriter.getIndexAttr(0);
    tile.count = rewriter.getIndexAttr(block);
    // The first row is 0, or behind the last one.
    if (place.isListed) {
      Value isRow = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, place.first, index(0));
      tile.count = select(isRow, index(block), index(0));
    }
    return tile;
  }
  // The last block of a short sequence, and those behind it, have fewer rows.
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  tile.first = affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 2, {s0, s1}, rewriter.getContext()),
      {place.first, tile.queries.count});
  tile.count = affine::makeComposedFoldedAffineMin(
      rewriter, loc,
      AffineMap::get(0, 2, {rewriter.getAffineConstantExpr(block), s0 - s1},
                     rewriter.getContext()),
      {tile.queries.count, tile.first});
  return tile;
}

TileResults SequenceTiler::getResults(Value batch) {
  return {output, lse, op.getQueryStarts() ? Value() : batch};
}

Value SequenceTiler::sliceOutput(const TileResults &results, const Rows &rows,
                                 Value head) {
  Value batch = results.batch ? results.batch : index(0);
  return slice(results.output, batch, rows.queries, rows.first, rows.count,
               head);
}

Value SequenceTiler::sliceLse(const TileResults &results, const Rows &rows,
                              Value head) {
  if (!results.lse)
    return {};
  return sliceNumbers(results.lse, results.batch, rows.queries, rows.first,
                      rows.count, head);
}

/// What parts of keys are a multiple of. A GPU copies and masks the end of a
/// part as it does that of a sequence, so its parts are of almost one size:
/// what they begin at is aligned in captured rows, and for draws of dropout. A
/// block of keys in pages is of whole copies, unless rows are found one by one.
/// A CPU has code of its own for blocks that are not full.
int64_t SequenceTiler::getPartUnit() {
  constexpr int64_t aligned = 8;
  int64_t keyBlock = op.getConfigAttr().getKeyBlock();
  if (!isOnDevice())
    return keyBlock;
  int64_t unit =
      drawsDropout(op.getScore()) ? int64_t(philox::blockMultiple) : aligned;
  if (!op.getKeyPages())
    return unit;
  int64_t rows =
      cast<MemRefType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
  if (findsRows(rows, keyBlock))
    return unit;
  return std::lcm(unit, std::min(rows, keyBlock));
}

/// The first key of a part of `count`, and how many it has. Parts of one size
/// are multiples of `unit`, so that they share no copies.
static std::pair<OpFoldResult, OpFoldResult>
cutKeys(RewriterBase &rewriter, Location loc, const KeyPart &part, Value count,
        int64_t unit) {
  if (!part.number)
    return {rewriter.getIndexAttr(0), count};
  AffineExpr s0, s1, s2;
  bindSymbols(rewriter.getContext(), s0, s1, s2);
  auto constant = [&](int64_t value) {
    return rewriter.getAffineConstantExpr(value);
  };
  Value begin;
  OpFoldResult size;
  if (part.first) {
    begin = part.first;
    size = part.keys;
  } else if (part.size) {
    size = rewriter.getIndexAttr(part.size);
    begin = arith::MulIOp::create(
        rewriter, loc, part.number,
        arith::ConstantIndexOp::create(rewriter, loc, part.size),
        arith::IntegerOverflowFlags::nsw);
  } else {
    Value equal;
    if (std::optional<int64_t> parts = getConstantIntValue(part.count)) {
      equal = getValueOrCreateConstantIndexOp(
          rewriter, loc,
          affine::makeComposedFoldedAffineApply(
              rewriter, loc,
              s0.ceilDiv(constant(*parts * unit)) * constant(unit),
              {OpFoldResult(count)}));
    } else {
      Value one = arith::ConstantIndexOp::create(rewriter, loc, unit);
      Value units = arith::CeilDivSIOp::create(rewriter, loc, count, one);
      Value ofPart = arith::CeilDivSIOp::create(rewriter, loc, units,
                                                cast<Value>(part.count));
      equal = arith::MulIOp::create(rewriter, loc, ofPart, one,
                                    arith::IntegerOverflowFlags::nsw);
    }
    size = equal;
    begin = arith::MulIOp::create(rewriter, loc, part.number, equal,
                                  arith::IntegerOverflowFlags::nsw);
  }
  OpFoldResult first = affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 2, {s0, s1}, rewriter.getContext()),
      {OpFoldResult(begin), OpFoldResult(count)});
  OpFoldResult keys = affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 3, {s0, s1 - s2}, rewriter.getContext()),
      {size, OpFoldResult(count), first});
  return {first, keys};
}

void SequenceTiler::buildTile(const TilePlace &place, int64_t block,
                              const KeyPart &part, const TileResults &results) {
  Value batch = place.batch, head = place.head;
  Rows rows = findTileRows(place, block);
  SequenceRows keys = findKeys(batch);
  Value isValid = keys.isValid;
  if (Value areQueries = rows.queries.isValid)
    isValid = isValid ? both(isValid, areQueries) : areQueries;
  if (op.getKeyPages() && !copiesSpoilRows())
    isValid = both(isValid, hasPages(batch, keys.count));
  if (isValid)
    keys.count = select(isValid, keys.count, index(0));
  auto [firstKey, numKeys] =
      cutKeys(rewriter, loc, part, keys.count, getPartUnit());

  OpFoldResult keyHead = getKeyHead(rewriter, op, head);
  Value tileQuery =
      slice(query, batch, rows.queries, rows.first, rows.count, head);
  Value tileKey = getKeys(op.getKey(), op.getKeyOrder(), key, batch, keys,
                          firstKey, numKeys, keyHead);
  Value tileValue = getKeys(op.getValue(), op.getValueOrder(), value, batch,
                            keys, firstKey, numKeys, keyHead);
  Value tileOutput = sliceOutput(results, rows, head);
  Value tileLse = sliceLse(results, rows, head);
  bool isPaged = static_cast<bool>(op.getKeyPages());
  auto getOrder = [&](const RowView &view) {
    return view.order.isDefault() ? DimsAttr() : view.order;
  };
  // A sink is one key, so it is of one part.
  Value isFirst;
  if (part.number && !op.getSink().empty())
    isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                    part.number, index(0));
  auto tile = AttentionOp::create(
      rewriter, loc, TypeRange(), tileQuery, tileKey, tileValue, op.getScale(),
      /*query_lengths=*/Value(), /*key_lengths=*/Value(),
      /*query_starts=*/Value(), /*key_starts=*/Value(), /*key_pages=*/Value(),
      ValueRange{batch, head, toValue(rows.first), toValue(firstKey)},
      ValueRange{rows.queries.count, keys.count}, op.getScoreCaptures(),
      op.getMaskCaptures(), op.getSinkCaptures(), tileOutput, tileLse,
      getOrder(query), isPaged ? DimsAttr() : getOrder(key),
      isPaged ? DimsAttr() : getOrder(value), getOrder(results.output),
      op.getConfigAttr().withoutKeySplits(), op.getBatchInvariantAttr());
  IRMapping mapping;
  op.getScore().cloneInto(&tile.getScore(), mapping);
  op.getMask().cloneInto(&tile.getMask(), mapping);
  op.getSink().cloneInto(&tile.getSink(), mapping);
  if (isFirst)
    keepSinkWhere(rewriter, tile, isFirst,
                  APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true));
  // Rows of a broken sequence are NaN: so is their sink, and they have no keys.
  if (isValid)
    keepSinkWhere(rewriter, tile, isValid,
                  APFloat::getQNaN(APFloat::IEEEsingle()));
}

OpFoldResult SequenceTiler::countBatches() {
  return countSequences(op.getQueryStarts(), op.getQuery(), op.getQueryOrder());
}

int64_t SequenceTiler::getQueryBlock() {
  int64_t block = op.getConfigAttr().getQueryBlock();
  int64_t queries =
      cast<ShapedType>(op.getQuery().getType())
          .getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
  // Fewer queries than a block make one block with a static size.
  if (!op.getQueryStarts() && !ShapedType::isDynamic(queries))
    return std::clamp<int64_t>(queries, 1, block);
  return block;
}

void SequenceTiler::checkPages() {
  if (!op.getKeyPages() || !isOnDevice())
    return;
  Value columns = memref::DimOp::create(rewriter, loc, op.getKeyPages(), 1);
  cf::AssertOp::create(
      rewriter, loc, isAtMost(index(1), columns),
      "key_pages has no columns, expected at least one on a GPU");
}

scf::ForallOp SequenceTiler::createLoop(ArrayRef<OpFoldResult> before,
                                        int64_t block, OpFoldResult batches) {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  OpFoldResult heads = getMixedSize(rewriter, loc, op.getQuery(),
                                    op.getQueryOrder(), DimKind::Heads);
  SmallVector<OpFoldResult> ends(before);
  bool hasSlots = op.getQueryStarts() && !isPlanned(op);
  if (hasSlots) {
    SequenceSlots slots(rewriter, loc, op.getQueryStarts(), countQueries(),
                        block);
    ends.push_back(slots.countTiles(toValue(heads)));
  } else {
    ends.append({batches ? batches : countBatches(), heads,
                 getAsOpFoldResult(countQueries())});
  }
  SmallVector<OpFoldResult> begins(ends.size(), zero), steps(ends.size(), one);
  if (!hasSlots)
    steps.back() = rewriter.getIndexAttr(block);
  return scf::ForallOp::create(rewriter, loc, begins, ends, steps, ValueRange(),
                               std::nullopt);
}

TilePlace SequenceTiler::findPlace(ValueRange indices, int64_t block) {
  if (!op.getQueryStarts() || isPlanned(op))
    return {indices[0], indices[1], indices[2]};
  SequenceSlots slots(rewriter, loc, op.getQueryStarts(), countQueries(),
                      block);
  Value heads = getSize(op.getQuery(), op.getQueryOrder(), DimKind::Heads);
  return slots.findPlace(indices.front(), heads);
}

FailureOr<scf::ForallOp> mlir::fa::tileSequences(RewriterBase &rewriter,
                                                 AttentionOp op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError() << "query has type " << op.getQuery().getType()
                            << ", expected memrefs to tile packed sequences or "
                               "pages; fa-results-to-out-parameters makes them";
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SequenceTiler tiler(rewriter, op);
  tiler.checkPages();
  int64_t block = tiler.getQueryBlock();
  scf::ForallOp loop = tiler.createLoop({}, block);
  rewriter.setInsertionPoint(loop.getTerminator());
  TilePlace place = tiler.findPlace(loop.getInductionVars(), block);
  tiler.buildTile(place, block, KeyPart(), tiler.getResults(place.batch));
  rewriter.eraseOp(op);
  return loop;
}
