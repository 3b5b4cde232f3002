//===- AppendRows.cpp - Where new rows of a cache go ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AppendRows.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

AppendRows::AppendRows(RewriterBase &rewriter, AppendOp op)
    : SequenceViews(rewriter, op.getLoc()), op(op),
      key(view(op.getKey(), op.getKeyOrder())),
      value(view(op.getValue(), op.getValueOrder())),
      keyCache{op.getKeyCache(), op.getKeyCacheOrder()},
      valueCache{op.getValueCache(), op.getValueCacheOrder()} {
  capacity =
      getSize(op.getKeyCache(), op.getKeyCacheOrder(), DimKind::Sequence);
  if (!op.getKeyPages())
    return;
  // A page without any rows holds none, but rows are divided by it.
  pageRows = rewriter.createOrFold<arith::MaxSIOp>(loc, capacity, index(1));
  Value pages = memref::DimOp::create(rewriter, loc, op.getKeyPages(), 1);
  capacity = arith::MulIOp::create(rewriter, loc, pages, capacity);
}

OpFoldResult AppendRows::countBatches() {
  return countSequences(op.getKeyStarts(), op.getKey(), op.getKeyOrder());
}

SequenceRows AppendRows::findNewRows(Value batch) {
  return findRows(op.getKeyStarts(), op.getNewLengths(),
                  getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence),
                  batch, /*keepRows=*/false);
}

NewRows AppendRows::look(Value batch) {
  NewRows found{findNewRows(batch), {}};
  SequenceRows &rows = found.rows;
  Value length = load(op.getKeyLengths(), batch);
  found.before = arith::SubIOp::create(rewriter, loc, length, rows.count);
  Value canBe =
      both(isAtMost(index(0), found.before), isAtMost(length, capacity));
  if (rows.isValid)
    canBe = both(canBe, rows.isValid);
  if (op.getRotary())
    for (Value table : {op.getCosines(), op.getSines()})
      canBe = both(canBe, isAtMost(length, memref::DimOp::create(rewriter, loc,
                                                                 table, 0)));
  if (op.getKeyPages()) {
    Value inPools = arith::MinSIOp::create(
        rewriter, loc,
        getSize(op.getKeyCache(), op.getKeyCacheOrder(), DimKind::Page),
        getSize(op.getValueCache(), op.getValueCacheOrder(), DimKind::Page));
    // Nothing is looked up by a length that cannot be.
    Value first = select(canBe, found.before, index(0));
    Value end = select(canBe, length, index(0));
    Value isWrong = isAnyPageWrong(
        op.getKeyPages(), batch,
        arith::DivSIOp::create(rewriter, loc, first, pageRows),
        arith::CeilDivSIOp::create(rewriter, loc, end, pageRows), inPools);
    Value one = arith::ConstantIntOp::create(rewriter, loc, 1, /*width=*/1);
    canBe = both(canBe, arith::XOrIOp::create(rewriter, loc, isWrong, one));
  }
  rows.isValid = canBe;
  return found;
}

RowPlace AppendRows::getSource(Value batch, const NewRows &rows, Value row) {
  Value source = arith::AddIOp::create(rewriter, loc, rows.rows.first, row);
  return {op.getKeyStarts() ? OpFoldResult(rewriter.getIndexAttr(0))
                            : OpFoldResult(batch),
          source};
}

RowPlace AppendRows::getTarget(Value batch, Value position) {
  if (!op.getKeyPages())
    return {batch, position};
  Value number = arith::DivSIOp::create(rewriter, loc, position, pageRows);
  Value row = arith::RemSIOp::create(rewriter, loc, position, pageRows);
  return {load(op.getKeyPages(), {batch, number}), row};
}

FailureOr<scf::ForallOp>
mlir::fa::replaceAppend(RewriterBase &rewriter, AppendOp op,
                        function_ref<scf::ForallOp()> build) {
  if (!isa<MemRefType>(op.getKey().getType()))
    return op.emitOpError("is on tensors, expected memrefs: "
                          "fa-results-to-out-parameters makes them");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  scf::ForallOp loop = build();
  rewriter.eraseOp(op);
  return loop;
}
