//===- SequenceSlots.cpp - Query blocks of packed sequences ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which sequence, head and rows a tile of packed queries is of, where the host
// knows how many rows and sequences there are, but no starts. Read `findPlace`.
//
//===----------------------------------------------------------------------===//

#include "SequenceSlots.h"
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

Value SequenceSlots::countSequences() {
  Value entries = rewriter.createOrFold<memref::DimOp>(loc, starts, int64_t(0));
  return make<arith::SubIOp>(entries, index(1));
}

OpFoldResult SequenceSlots::countTiles(Value heads) {
  Value sequences = countSequences();
  // Rows of no sequence have no slot.
  Value atMostOne = make<arith::MinUIOp>(sequences, index(1));
  Value whole = make<arith::DivUIOp>(rows, index(block));
  Value slots = make<arith::AddIOp>(multiply(whole, atMostOne), sequences);
  return getAsOpFoldResult(multiply(slots, heads));
}

/// In bounds of all slots, whatever the start is.
Value SequenceSlots::getFirstSlot(Value sequence) {
  Value start = make<arith::MinSIOp>(load(starts, sequence), rows);
  start = make<arith::MaxSIOp>(start, index(0));
  return make<arith::AddIOp>(make<arith::DivUIOp>(start, index(block)),
                             sequence);
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
