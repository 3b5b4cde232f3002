//===- AppendToLoops.cpp - New keys and values into a cache ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes fa.append a parallel loop over (sequence, block of new rows). A block
// first checks what says where its sequence is, then writes row by row. Read
// `RowAppender::build`, then `writeRow`.
//
//===----------------------------------------------------------------------===//

#include "AppendRows.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAAPPENDTOLOOPS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// New rows of a block: enough that what is checked once for each does not
/// count, and few enough that a long prompt is written by all threads.
static constexpr int64_t rowBlock = 64;

namespace {
/// Head dims `first`, `first + step`, ... of a row.
struct DimRange {
  int64_t first, count, step = 1;
};

class RowAppender : AppendRows {
public:
  using AppendRows::AppendRows;

  scf::ForallOp build();

private:
  Value countMostRows(Value batches);
  Value sliceRow(const RowView &view, RowPlace place, DimRange dims);
  void compute(
      ValueRange inputs, ValueRange outputs, ArrayRef<AffineMap> maps,
      function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body);
  AffineMap getMap(DimsAttr order);
  void copy(const RowView &from, RowPlace fromPlace, const RowView &to,
            RowPlace toPlace, DimRange dims);
  void turn(RowPlace from, RowPlace to, Value position);
  void writeRow(RowPlace from, RowPlace to, Value position);
};
} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The most new rows of a sequence.
Value RowAppender::countMostRows(Value batches) {
  if (!op.getKeyStarts())
    return getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  auto loop =
      scf::ForOp::create(rewriter, loc, index(0), batches, index(1), index(0));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  Value most =
      arith::MaxSIOp::create(rewriter, loc, loop.getRegionIterArg(0),
                             findNewRows(loop.getInductionVar()).count);
  scf::YieldOp::create(rewriter, loc, most);
  return loop.getResult(0);
}

Value RowAppender::sliceRow(const RowView &view, RowPlace place,
                            DimRange dims) {
  OpFoldResult one = rewriter.getIndexAttr(1), zero = rewriter.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets(4, zero), sizes(4, one), strides(4, one);
  for (auto [position, kind] : llvm::enumerate(view.order.getOrder())) {
    switch (static_cast<DimKind>(kind)) {
    case DimKind::Batch:
    case DimKind::Page:
      offsets[position] = place.outer;
      break;
    case DimKind::Sequence:
      offsets[position] = place.row;
      break;
    case DimKind::Heads:
      sizes[position] =
          getMixedSize(rewriter, loc, view.memory, view.order, DimKind::Heads);
      break;
    case DimKind::HeadDim:
      offsets[position] = rewriter.getIndexAttr(dims.first);
      sizes[position] = rewriter.getIndexAttr(dims.count);
      strides[position] = rewriter.getIndexAttr(dims.step);
      break;
    }
  }
  return memref::SubViewOp::create(rewriter, loc, view.memory, offsets, sizes,
                                   strides);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// From (outer, row, head, head dim) to an operand with this order.
AffineMap RowAppender::getMap(DimsAttr order) {
  SmallVector<AffineExpr> results;
  for (int64_t kind : order.getOrder())
    results.push_back(
        rewriter.getAffineDimExpr(static_cast<DimKind>(kind) == DimKind::Page
                                      ? static_cast<int64_t>(DimKind::Batch)
                                      : kind));
  return AffineMap::get(4, 0, results, rewriter.getContext());
}

void RowAppender::compute(
    ValueRange inputs, ValueRange outputs, ArrayRef<AffineMap> maps,
    function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      rewriter, loc, inputs, outputs, maps, loops,
      [&](OpBuilder &nested, Location at, ValueRange arguments) {
        linalg::YieldOp::create(nested, at, body(nested, at, arguments));
      });
}

void RowAppender::copy(const RowView &from, RowPlace fromPlace,
                       const RowView &to, RowPlace toPlace, DimRange dims) {
  compute(sliceRow(from, fromPlace, dims), sliceRow(to, toPlace, dims),
          {getMap(from.order), getMap(to.order)},
          [](OpBuilder &, Location, ValueRange arguments) {
            return SmallVector<Value>{arguments[0]};
          });
}

/// Turns the pairs of a key by the angles of its position.
void RowAppender::turn(RowPlace from, RowPlace to, Value position) {
  int64_t pairs = cast<MemRefType>(op.getCosines().getType()).getDimSize(1);
  bool isInterleaved = *op.getRotary() == Rotary::interleaved;
  DimRange first{0, pairs, isInterleaved ? 2 : 1};
  DimRange second{isInterleaved ? 1 : pairs, pairs, isInterleaved ? 2 : 1};
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  auto getAngles = [&](Value table) -> Value {
    SmallVector<OpFoldResult> offsets = {position, zero},
                              sizes = {one, rewriter.getIndexAttr(pairs)},
                              strides = {one, one};
    return memref::SubViewOp::create(rewriter, loc, table, offsets, sizes,
                                     strides);
  };
  AffineMap ofAngles = AffineMap::get(
      4, 0, {rewriter.getAffineDimExpr(1), rewriter.getAffineDimExpr(3)},
      rewriter.getContext());
  AffineMap ofKey = getMap(key.order), ofCache = getMap(keyCache.order);
  Value inputs[] = {sliceRow(key, from, first), sliceRow(key, from, second),
                    getAngles(op.getCosines()), getAngles(op.getSines())};
  Value outputs[] = {sliceRow(keyCache, to, first),
                     sliceRow(keyCache, to, second)};
  Type element = getElementTypeOrSelf(op.getKey().getType());
  compute(inputs, outputs, {ofKey, ofKey, ofAngles, ofAngles, ofCache, ofCache},
          [&](OpBuilder &nested, Location at, ValueRange arguments) {
            Type single = nested.getF32Type();
            SmallVector<Value> x;
            for (Value argument : arguments.take_front(4))
              x.push_back(argument.getType() == single
                              ? argument
                              : Value(arith::ExtFOp::create(nested, at, single,
                                                            argument)));
            auto multiply = [&](Value a, Value b) -> Value {
              return arith::MulFOp::create(nested, at, a, b);
            };
            SmallVector<Value> turned = {
                arith::SubFOp::create(nested, at, multiply(x[0], x[2]),
                                      multiply(x[1], x[3])),
                arith::AddFOp::create(nested, at, multiply(x[0], x[3]),
                                      multiply(x[1], x[2]))};
            for (Value &result : turned)
              if (element != single)
                result = arith::TruncFOp::create(nested, at, element, result);
            return turned;
          });
}

void RowAppender::writeRow(RowPlace from, RowPlace to, Value position) {
  auto getHeadDim = [](const RowView &view) {
    return cast<MemRefType>(view.memory.getType())
        .getDimSize(view.order.positionOf(DimKind::HeadDim));
  };
  int64_t turned = 0, headDim = getHeadDim(key);
  if (op.getRotary()) {
    turn(from, to, position);
    turned = 2 * cast<MemRefType>(op.getCosines().getType()).getDimSize(1);
  }
  if (turned < headDim)
    copy(key, from, keyCache, to, {turned, headDim - turned});
  copy(value, from, valueCache, to, {0, getHeadDim(value)});
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

scf::ForallOp RowAppender::build() {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  OpFoldResult batches = countBatches();
  Value most = countMostRows(toValue(batches));
  auto blocks = scf::ForallOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{zero, zero},
      ArrayRef<OpFoldResult>{batches, getAsOpFoldResult(most)},
      ArrayRef<OpFoldResult>{one, rewriter.getIndexAttr(rowBlock)},
      ValueRange(), std::nullopt);
  rewriter.setInsertionPoint(blocks.getTerminator());
  Value batch = blocks.getInductionVar(0), block = blocks.getInductionVar(1);

  NewRows found = look(batch);
  auto ifRows = scf::IfOp::create(rewriter, loc, found.rows.isValid);
  rewriter.setInsertionPointToStart(ifRows.thenBlock());
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  Value end = toValue(affine::makeComposedFoldedAffineMin(
      rewriter, loc,
      AffineMap::get(0, 2, {s0 + rowBlock, s1}, rewriter.getContext()),
      {OpFoldResult(block), OpFoldResult(found.rows.count)}));
  auto loop = scf::ForOp::create(rewriter, loc, block, end, index(1));
  rewriter.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  Value position = arith::AddIOp::create(rewriter, loc, found.before, row);
  writeRow(getSource(batch, found, row), getTarget(batch, position), position);
  return blocks;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

FailureOr<scf::ForallOp> mlir::fa::appendToLoops(RewriterBase &rewriter,
                                                 AppendOp op) {
  return replaceAppend(rewriter, op,
                       [&] { return RowAppender(rewriter, op).build(); });
}

namespace {
struct AppendToLoopsPass
    : public fa::impl::FAAppendToLoopsBase<AppendToLoopsPass> {
  void runOnOperation() override {
    SmallVector<AppendOp> all;
    getOperation()->walk([&](AppendOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AppendOp op : all)
      if (failed(appendToLoops(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
