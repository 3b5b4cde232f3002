//===- SequenceErrorsToLoops.cpp - What is wrong with sequences -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes fa.sequence_errors a parallel loop over sequences, each of which gets
// its word. Read `ErrorFinder::build`.
//
//===----------------------------------------------------------------------===//

#include "SequenceViews.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Sequences.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASEQUENCEERRORSTOLOOPS
#include "fa/Dialect/FA/Transforms/SequencePasses.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
class ErrorFinder : SequenceViews {
public:
  ErrorFinder(RewriterBase &rewriter, SequenceErrorsOp op)
      : SequenceViews(rewriter, op.getLoc()), op(op) {}

  scf::ForallOp build();

private:
  Value word(int32_t number) {
    return arith::ConstantIntOp::create(rewriter, loc, number, /*width=*/32);
  }
  void add(Value isWrong, SequenceError error);
  Value negate(Value flag);
  SequenceRows look(Value starts, Value lengths, Value room, Value batch,
                    SequenceError ofStarts, SequenceError ofLength);
  Value findRoomForKeys();
  Value isPageOfKeyWrong(Value batch, Value keys);

  SequenceErrorsOp op;
  /// The word so far.
  Value errors;
};
} // namespace

Value ErrorFinder::negate(Value flag) {
  Value one = arith::ConstantIntOp::create(rewriter, loc, 1, /*width=*/1);
  return arith::XOrIOp::create(rewriter, loc, flag, one);
}

void ErrorFinder::add(Value isWrong, SequenceError error) {
  Value bit = select(isWrong, word(static_cast<int32_t>(error)), word(0));
  errors = arith::OrIOp::create(rewriter, loc, errors, bit);
}

/// The rows of a sequence, none where what says so is wrong.
SequenceRows ErrorFinder::look(Value starts, Value lengths, Value room,
                               Value batch, SequenceError ofStarts,
                               SequenceError ofLength) {
  SequenceRows rows = findRows(starts, /*lengths=*/Value(), room, batch,
                               /*keepRows=*/false);
  if (starts)
    add(negate(rows.isValid), ofStarts);
  if (!lengths)
    return rows;
  // Starts that are wrong leave no room, whatever the length is.
  SequenceRows used =
      findRows(Value(), lengths, rows.count, batch, /*keepRows=*/false);
  Value isWrong = negate(used.isValid);
  add(starts ? both(isWrong, rows.isValid) : isWrong, ofLength);
  return used;
}

/// The rows of all keys, or those that the table has pages for.
Value ErrorFinder::findRoomForKeys() {
  Value rows = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  if (!op.getKeyPages())
    return rows;
  Value pages = memref::DimOp::create(rewriter, loc, op.getKeyPages(), 1);
  return arith::MulIOp::create(rewriter, loc, pages, rows);
}

/// Whether a page of a key is not in both pools.
Value ErrorFinder::isPageOfKeyWrong(Value batch, Value keys) {
  // A sequence has no keys in pages without rows.
  Value rows = rewriter.createOrFold<arith::MaxSIOp>(
      loc, getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence), index(1));
  Value used = arith::CeilDivSIOp::create(rewriter, loc, keys, rows);
  Value inPools = arith::MinSIOp::create(
      rewriter, loc, getSize(op.getKey(), op.getKeyOrder(), DimKind::Page),
      getSize(op.getValue(), op.getValueOrder(), DimKind::Page));
  return isAnyPageWrong(op.getKeyPages(), batch, index(0), used, inPools);
}

scf::ForallOp ErrorFinder::build() {
  OpFoldResult sequences =
      memref::getMixedSize(rewriter, loc, op.getErrors(), 0);
  auto loop = scf::ForallOp::create(rewriter, loc, ArrayRef(sequences),
                                    ValueRange(), std::nullopt);
  rewriter.setInsertionPoint(loop.getTerminator());
  Value batch = loop.getInductionVar(0);
  errors = word(0);
  look(op.getQueryStarts(), op.getQueryLengths(),
       getSize(op.getQuery(), op.getQueryOrder(), DimKind::Sequence), batch,
       SequenceError::QueryStarts, SequenceError::QueryLength);
  SequenceRows keys =
      look(op.getKeyStarts(), op.getKeyLengths(), findRoomForKeys(), batch,
           SequenceError::KeyStarts, SequenceError::KeyLength);
  if (op.getKeyPages())
    add(isPageOfKeyWrong(batch, keys.count), SequenceError::KeyPages);
  memref::StoreOp::create(rewriter, loc, errors, op.getErrors(), batch);
  return loop;
}

FailureOr<scf::ForallOp> mlir::fa::sequenceErrorsToLoops(RewriterBase &rewriter,
                                                         SequenceErrorsOp op) {
  if (!isa<MemRefType>(op.getErrors().getType()))
    return op.emitOpError("is on tensors, expected memrefs: "
                          "fa-results-to-out-parameters makes them");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  scf::ForallOp loop = ErrorFinder(rewriter, op).build();
  rewriter.eraseOp(op);
  return loop;
}

namespace {
struct SequenceErrorsToLoopsPass
    : public fa::impl::FASequenceErrorsToLoopsBase<SequenceErrorsToLoopsPass> {
  void runOnOperation() override {
    SmallVector<SequenceErrorsOp> all;
    getOperation()->walk([&](SequenceErrorsOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (SequenceErrorsOp op : all)
      if (failed(sequenceErrorsToLoops(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
