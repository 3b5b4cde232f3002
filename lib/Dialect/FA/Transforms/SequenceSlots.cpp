//===- SequenceSlots.cpp - Query blocks of packed sequences ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which sequence, head and rows a tile of packed queries is of, where the host
// knows how many rows and sequences there are, but no starts. Read `findPlace`,
// and `areOrdered` for starts that cannot be.
//
//===----------------------------------------------------------------------===//

#include "SequenceSlots.h"
#include "fa/Support/ParallelSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

/// Numbers of tiles and rows, which do not wrap.
Value SequenceSlots::multiply(Value a, Value b) {
  return rewriter.createOrFold<arith::MulIOp>(loc, a, b,
                                              arith::IntegerOverflowFlags::nsw);
}

Value SequenceSlots::isLess(Value a, Value b) {
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, a, b);
}

/// So many that what a GPU counts by them has 30 bits.
Value SequenceSlots::countEntries() {
  constexpr int64_t most = (int64_t(1) << 30) - 2;
  Value entries = rewriter.createOrFold<memref::DimOp>(loc, starts, int64_t(0));
  return allRows ? make<arith::MinSIOp>(entries, index(most)) : entries;
}

Value SequenceSlots::countSequences() {
  Value entries = countEntries();
  return allRows ? make<arith::AddIOp>(entries, index(1))
                 : make<arith::SubIOp>(entries, index(1));
}

Value SequenceSlots::countSlots() {
  Value sequences = countSequences();
  Value whole = make<arith::DivUIOp>(rows, index(block));
  // Rows of no sequence have no slot.
  if (!allRows)
    whole = multiply(whole, make<arith::MinUIOp>(sequences, index(1)));
  return make<arith::AddIOp>(whole, sequences);
}

OpFoldResult SequenceSlots::countTiles(Value heads) {
  return getAsOpFoldResult(multiply(countSlots(), heads));
}

Value SequenceSlots::getStart(Value sequence) {
  Value zero = index(0), entry = sequence;
  if (allRows) {
    Value last = make<arith::SubIOp>(countEntries(), index(1));
    entry = make<arith::SubIOp>(sequence, index(1));
    entry = make<arith::MinSIOp>(make<arith::MaxSIOp>(entry, zero), last);
    Value start = make<arith::MinSIOp>(load(starts, entry), rows);
    start = make<arith::MaxSIOp>(start, zero);
    Value end = make<arith::AddIOp>(last, index(1));
    start = select(isLess(end, sequence), rows, start);
    return select(isLess(zero, sequence), start, zero);
  }
  Value start = make<arith::MinSIOp>(load(starts, entry), rows);
  return make<arith::MaxSIOp>(start, zero);
}

Value SequenceSlots::getFirstSlot(Value sequence) {
  return make<arith::AddIOp>(
      make<arith::DivUIOp>(getStart(sequence), index(block)), sequence);
}

Value SequenceSlots::areOrdered(Value need, bool sideBySide) {
  Value zero = index(0), one = index(1);
  Value pairs = make<arith::SubIOp>(countEntries(), one);
  Value end = select(isLess(zero, need), pairs, zero);
  // Words, which roles of a kernel can be sent.
  Value yes = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  Value no = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  auto isOrdered = [&](Value entry) {
    Value first = load(starts, entry),
          next = load(starts, make<arith::AddIOp>(entry, one));
    return both(both(isAtMost(zero, first), isAtMost(first, next)),
                isAtMost(next, rows));
  };
  if (sideBySide) {
    auto count = [&](OpBuilder &, Value entry) -> SmallVector<Value> {
      return {select(isOrdered(entry), no, yes)};
    };
    Value wrong =
        createParallelSums(rewriter, loc, zero, end, /*count=*/1, count)
            .front();
    return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, wrong,
                                 no);
  }
  auto loop = scf::ForOp::create(rewriter, loc, zero, end, one, yes);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  Value isValid = isOrdered(loop.getInductionVar());
  scf::YieldOp::create(rewriter, loc,
                       select(isValid, loop.getRegionIterArg(0), no));
  rewriter.setInsertionPointAfter(loop);
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                               loop.getResult(0), no);
}

/// The last sequence whose slots begin at or before `slot`, or the first one,
/// by halving what it is among.
Value SequenceSlots::findSequence(Value slot) {
  SmallVector<Value> all = {index(0), countSequences()};
  auto search = scf::WhileOp::create(
      rewriter, loc, TypeRange(ValueRange(all)), all,
      [&](OpBuilder &, Location, ValueRange among) {
        Value count = make<arith::SubIOp>(among[1], among[0]);
        scf::ConditionOp::create(rewriter, loc, isLess(index(1), count), among);
      },
      [&](OpBuilder &, Location, ValueRange among) {
        Value sum = make<arith::AddIOp>(among[0], among[1]);
        Value middle = make<arith::DivUIOp>(sum, index(2));
        Value isBehind = isLess(slot, getFirstSlot(middle));
        Value first = select(isBehind, among[0], middle),
              end = select(isBehind, middle, among[1]);
        scf::YieldOp::create(rewriter, loc, ValueRange{first, end});
      });
  return search.getResult(0);
}

TilePlace SequenceSlots::findPlace(Value tile, Value heads) {
  Value one = index(1);
  Value slot = make<arith::DivUIOp>(tile, heads);
  Value sequence = findSequence(slot);
  Value first = getFirstSlot(sequence);
  Value end = getFirstSlot(make<arith::AddIOp>(sequence, one));
  Value isIn = both(isAtMost(first, slot), isLess(slot, end));
  // Numbers of rows have a block for each slot, whatever the starts are.
  if (allRows) {
    Value number = make<arith::SubIOp>(slot, first);
    Value behind =
        make<arith::AddIOp>(make<arith::DivUIOp>(rows, index(block)), index(1));
    Value row = multiply(select(isIn, number, behind), index(block));
    return {sequence, make<arith::RemUIOp>(tile, heads), row};
  }
  // A slot ahead of the first start, or behind the last one, is a block behind
  // all rows.
  Value behind =
      make<arith::AddIOp>(make<arith::DivUIOp>(rows, index(block)), one);
  Value blocks = select(isIn, make<arith::SubIOp>(end, first),
                        make<arith::AddIOp>(behind, one));
  Value inSequence = make<arith::SubIOp>(tile, multiply(first, heads));
  inSequence = select(isIn, inSequence, behind);
  Value head = make<arith::DivUIOp>(inSequence, blocks);
  // Roles of a kernel are sent the result of a division, not its operands.
  Value number = make<arith::RemUIOp>(inSequence, blocks);
  Value row = multiply(number, index(block));
  return {sequence, head, row};
}
