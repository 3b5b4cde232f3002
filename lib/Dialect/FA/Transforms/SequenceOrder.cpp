//===- SequenceOrder.cpp - Places of sequences in a list ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of many sequences, each is of a class of lengths. For each group of sequences
// and each class there is a sum: of the items of those that are in this class
// or longer. Ahead of a sequence are all longer ones, those of its class in the
// groups before, and those of its class before it in its own group. Read
// `addUp`, then `findByGroups`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/SequenceOrder.h"

#include "fa/Support/ParallelSums.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

/// Classes of lengths. No sequence is as long as the last one says.
static constexpr int64_t numClasses = 64, lastClass = numClasses - 1;

/// Of up to so many sequences each looks at all; of more, at those of a group.
static constexpr int64_t mostWithoutGroups = 512, sequencesOfGroup = 128;

static Value index(OpBuilder &builder, Location loc, int64_t number) {
  return arith::ConstantIndexOp::create(builder, loc, number);
}

static Value word(OpBuilder &builder, Location loc, int64_t number) {
  return arith::ConstantIntOp::create(builder, loc, number, /*width=*/32);
}

template <typename OpTy>
static Value make(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.createOrFold<OpTy>(loc, a, b);
}

static Value multiply(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b,
                                             arith::IntegerOverflowFlags::nsw);
}

static Value compare(OpBuilder &builder, Location loc, arith::CmpIPredicate by,
                     Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, by, a, b);
}

static Value select(OpBuilder &builder, Location loc, Value condition, Value a,
                    Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

SequenceOrder::Counts SequenceOrder::count(OpBuilder &builder, Location loc,
                                           Value sequences) {
  Value none = index(builder, loc, 0);
  Value areFew = compare(builder, loc, arith::CmpIPredicate::ule, sequences,
                         index(builder, loc, mostWithoutGroups));
  Value groups = make<arith::CeilDivUIOp>(
      builder, loc, sequences, index(builder, loc, sequencesOfGroup));
  groups = select(builder, loc, areFew, none, groups);
  return {groups, select(builder, loc, areFew, sequences, none),
          multiply(builder, loc, groups, index(builder, loc, numClasses)),
          select(builder, loc, areFew, none, sequences)};
}

static Value asWord(OpBuilder &builder, Location loc, Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
}

static Value asIndex(OpBuilder &builder, Location loc, Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

/// The least length of a class, of i32: lengths up to 7 have one each, and then
/// each power of two has four.
static Value getLeastLength(OpBuilder &builder, Location loc, Value ofClass) {
  auto constant = [&](int64_t number) { return word(builder, loc, number); };
  Value power = make<arith::ShRUIOp>(builder, loc, ofClass, constant(2));
  Value part = make<arith::AndIOp>(builder, loc, ofClass, constant(3));
  power = make<arith::MaxUIOp>(builder, loc, power, constant(1));
  Value least = make<arith::ShLIOp>(
      builder, loc, make<arith::AddIOp>(builder, loc, part, constant(4)),
      make<arith::SubIOp>(builder, loc, power, constant(1)));
  Value isShort =
      compare(builder, loc, arith::CmpIPredicate::ult, ofClass, constant(4));
  least = select(builder, loc, isShort, ofClass, least);
  Value isLast = compare(builder, loc, arith::CmpIPredicate::eq, ofClass,
                         constant(lastClass));
  return select(builder, loc, isLast,
                constant(std::numeric_limits<int32_t>::max()), least);
}

Value SequenceOrder::getSum(OpBuilder &builder, Value ofClass,
                            Value group) const {
  Value number = multiply(builder, loc, ofClass, sums.groups);
  number = make<arith::AddIOp>(builder, loc, number, group);
  number = make<arith::AddIOp>(builder, loc, sums.first, number);
  return memref::LoadOp::create(builder, loc, sums.memory, number);
}

/// Where the sequences of a group begin and end.
static std::pair<Value, Value> getGroup(OpBuilder &builder, Location loc,
                                        Value group, Value sequences) {
  Value size = index(builder, loc, sequencesOfGroup);
  Value begin = multiply(builder, loc, group, size);
  Value end = make<arith::AddIOp>(builder, loc, begin, size);
  return {begin, make<arith::MinUIOp>(builder, loc, end, sequences)};
}

void SequenceOrder::addUp(OpBuilder &builder, Value number) const {
  Value ofClass = make<arith::DivUIOp>(builder, loc, number, sums.groups);
  Value group = make<arith::RemUIOp>(builder, loc, number, sums.groups);
  Value least = getLeastLength(builder, loc, asWord(builder, loc, ofClass));
  auto [begin, end] = getGroup(builder, loc, group, sequences);
  auto count = [&](OpBuilder &in, Value sequence) -> SmallVector<Value> {
    Sequence found = look(in, sequence);
    Value isIn = compare(in, loc, arith::CmpIPredicate::sge,
                         asWord(in, loc, found.length), least);
    return {
        select(in, loc, isIn, asWord(in, loc, found.items), word(in, loc, 0))};
  };
  Value sum =
      createParallelSums(builder, loc, begin, end, /*count=*/1, count).front();
  memref::StoreOp::create(
      builder, loc, sum, sums.memory,
      make<arith::AddIOp>(builder, loc, sums.first, number));
}

/// Items of the sequences from `begin` to `end`: of those ahead, and of all.
SequenceOrder::Place SequenceOrder::addItems(OpBuilder &builder, Value begin,
                                             Value end, IsAhead isAhead) const {
  auto count = [&](OpBuilder &in, Value other) -> SmallVector<Value> {
    Sequence theirs = look(in, other);
    Value condition = isAhead(in, other, theirs.length);
    Value items = asWord(in, loc, theirs.items);
    return {select(in, loc, condition, items, word(in, loc, 0)), items};
  };
  ValueRange found =
      createParallelSums(builder, loc, begin, end, /*count=*/2, count);
  return {found[0], found[1]};
}

SequenceOrder::Place SequenceOrder::findAmongAll(OpBuilder &builder,
                                                 Value sequence,
                                                 Value length) const {
  auto isAhead = [&](OpBuilder &in, Value other, Value theirs) -> Value {
    Value isEarlier =
        compare(in, loc, arith::CmpIPredicate::slt, other, sequence);
    if (!length)
      return isEarlier;
    Value isLonger =
        compare(in, loc, arith::CmpIPredicate::sgt, theirs, length);
    Value isEqual = compare(in, loc, arith::CmpIPredicate::eq, theirs, length);
    return arith::OrIOp::create(
        in, loc, isLonger, arith::AndIOp::create(in, loc, isEqual, isEarlier));
  };
  return addItems(builder, index(builder, loc, 0), sequences, isAhead);
}

/// Classes but the first whose least length is at most `length`, of i32.
static Value findClass(OpBuilder &builder, Location loc, Value length) {
  auto count = [&](OpBuilder &in, Value number) -> SmallVector<Value> {
    Value least = getLeastLength(in, loc, asWord(in, loc, number));
    Value isIn = compare(in, loc, arith::CmpIPredicate::sle, least, length);
    return {arith::ExtUIOp::create(in, loc, in.getI32Type(), isIn)};
  };
  return createParallelSums(builder, loc, index(builder, loc, 1),
                            index(builder, loc, lastClass), /*count=*/1, count)
      .front();
}

SequenceOrder::Place SequenceOrder::findByGroups(OpBuilder &builder,
                                                 Value sequence,
                                                 Value length) const {
  Value zero = index(builder, loc, 0);
  // In the order of sequences all are of one class.
  Value ofClass = zero, ofLonger = index(builder, loc, lastClass);
  Value least, leastOfLonger;
  if (length) {
    Value number = findClass(builder, loc, asWord(builder, loc, length));
    Value next =
        make<arith::AddIOp>(builder, loc, number, word(builder, loc, 1));
    ofClass = asIndex(builder, loc, number);
    ofLonger = asIndex(builder, loc, next);
    least = getLeastLength(builder, loc, number);
    leastOfLonger = getLeastLength(builder, loc, next);
  }
  Value mine = make<arith::DivUIOp>(builder, loc, sequence,
                                    index(builder, loc, sequencesOfGroup));
  auto isAhead = [&](OpBuilder &in, Value other, Value theirs) -> Value {
    Value isEarlier =
        compare(in, loc, arith::CmpIPredicate::slt, other, sequence);
    if (!length)
      return isEarlier;
    Value theirLength = asWord(in, loc, theirs);
    Value isLonger =
        compare(in, loc, arith::CmpIPredicate::sge, theirLength, leastOfLonger);
    Value isEqual =
        compare(in, loc, arith::CmpIPredicate::sge, theirLength, least);
    return arith::OrIOp::create(
        in, loc, isLonger, arith::AndIOp::create(in, loc, isEqual, isEarlier));
  };
  auto [begin, end] = getGroup(builder, loc, mine, sequences);
  Place inGroup = addItems(builder, begin, end, isAhead);
  auto count = [&](OpBuilder &in, Value group) -> SmallVector<Value> {
    Value isBefore = compare(in, loc, arith::CmpIPredicate::slt, group, mine);
    Value isOther = compare(in, loc, arith::CmpIPredicate::ne, group, mine);
    Value none = word(in, loc, 0);
    Value ahead = select(in, loc, isBefore, getSum(in, ofClass, group),
                         getSum(in, ofLonger, group));
    return {select(in, loc, isOther, ahead, none),
            select(in, loc, isOther, getSum(in, zero, group), none)};
  };
  ValueRange others =
      createParallelSums(builder, loc, zero, sums.groups, /*count=*/2, count);
  return {make<arith::AddIOp>(builder, loc, inGroup.before, others[0]),
          make<arith::AddIOp>(builder, loc, inGroup.all, others[1])};
}

SequenceOrder::Place SequenceOrder::find(OpBuilder &builder, Value sequence,
                                         Value length) const {
  Place place = sums.groups ? findByGroups(builder, sequence, length)
                            : findAmongAll(builder, sequence, length);
  // Sequences that share rows, which is an error, may have more items than 32
  // bits hold. None is listed ahead of the list.
  Value none = word(builder, loc, 0);
  return {make<arith::MaxSIOp>(builder, loc, place.before, none),
          make<arith::MaxSIOp>(builder, loc, place.all, none)};
}
