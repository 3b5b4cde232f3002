//===- PlanParts.cpp - Parts of the keys that a device lists --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes and reads a list of parts of the keys. The memory has a head, two
// words for each block of threads (its first item, and the end of its items),
// eight for each item, and three for each merge. Of an item's words, two are
// numbers of its sequence, such as its length. Read `PartsPlan::list`, then
// `getItem`.
//
//===----------------------------------------------------------------------===//

#include "PlanParts.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/IR/WorkList.h"
#include "fa/Support/ParallelSums.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

/// Words of a head, a block, an item and a merge, and those of an item that say
/// what it is.
static constexpr int64_t headWords = fagpu::workListHead,
                         blockWords = fagpu::workListBlockWords, itemWords = 8,
                         mergeWords = 3, placeWords = 6;

/// More than numbers of keys can be, with all bits below it.
static constexpr int64_t greatestNumber = (int64_t(1) << 30) - 1;

Value PartsPlan::multiply(Value a, Value b) {
  return rewriter.createOrFold<arith::MulIOp>(loc, a, b,
                                              arith::IntegerOverflowFlags::nsw);
}

Value PartsPlan::divideUp(Value a, Value b) {
  Value more = make<arith::AddIOp>(a, make<arith::SubIOp>(b, index(1)));
  return make<arith::DivUIOp>(more, b);
}

Value PartsPlan::compare(arith::CmpIPredicate by, Value a, Value b) {
  return rewriter.createOrFold<arith::CmpIOp>(loc, by, a, b);
}

Value PartsPlan::asWord(Value value) {
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(),
                                    value);
}

void PartsPlan::measure(Value sequences, Value heads, Value queries,
                        Value keys) {
  this->sequences = sequences;
  this->keys = keys;
  blocks = make<arith::CeilDivUIOp>(queries, index(sizes.queryBlock));
  tiles = multiply(heads, blocks);
  processors = fagpu::MultiprocessorsOp::create(rewriter, loc);
  shares =
      make<arith::DivUIOp>(processors, make<arith::MaxUIOp>(tiles, index(1)));
  shares = make<arith::MaxUIOp>(shares, index(1));
  slots = make<arith::AddIOp>(sequences, shares);
  capacity = multiply(slots, tiles);
  areFew = compare(arith::CmpIPredicate::ule, sequences, shares);
}

Value PartsPlan::isNeedless() {
  auto isMore = [&](Value a, Value b) {
    return compare(arith::CmpIPredicate::ugt, a, b);
  };
  Value isOne = compare(arith::CmpIPredicate::ule, sequences, index(1));
  Value units = make<arith::CeilDivUIOp>(keys, index(sizes.unit));
  Value isWide =
      isMore(make<arith::MulIOp>(units, sequences), index(greatestNumber));
  // Lengths of sequences are cut at this number.
  isWide = make<arith::OrIOp>(isWide, isMore(keys, index(greatestNumber)));
  Value hasMany = isMore(tiles, processors);
  Value used = multiply(multiply(shares, tiles), index(3));
  Value isIdle = isMore(multiply(processors, index(2)), used);
  return make<arith::OrIOp>(make<arith::OrIOp>(isOne, isWide),
                            make<arith::OrIOp>(hasMany, isIdle));
}

void PartsPlan::allocate() {
  Value words = make<arith::MulIOp>(capacity, index(itemWords));
  Value ofMerges = make<arith::MulIOp>(sequences, index(mergeWords));
  Value ofBlocks = make<arith::MulIOp>(processors, index(blockWords));
  words = make<arith::AddIOp>(words, ofMerges);
  words = make<arith::AddIOp>(words, ofBlocks);
  words = make<arith::AddIOp>(words, index(headWords));
  // Places in the list are computed in 32 bits.
  Value fits = compare(arith::CmpIPredicate::sle, words,
                       index(std::numeric_limits<int32_t>::max()));
  cf::AssertOp::create(rewriter, loc, fits,
                       "the list of parts of the keys has more than 2147483647 "
                       "words, expected fewer sequences or heads");
  auto type = MemRefType::get({ShapedType::kDynamic}, rewriter.getI32Type());
  auto workspace = fagpu::WorkspaceOp::create(rewriter, loc, type, words);
  workspace->setAttr(fagpu::workListAttrName, rewriter.getUnitAttr());
  memory = workspace.getMemory();
}

bool PartsPlan::addNumber(Value added) {
  if (llvm::is_contained(numbers, added))
    return true;
  if (numbers.size() == itemWords - placeWords)
    return false;
  numbers.push_back(added);
  return true;
}

//===----------------------------------------------------------------------===//
// The loop that writes the list
//===----------------------------------------------------------------------===//

void PartsPlan::forEach(Value begin, Value end, Value step,
                        function_ref<void(Value)> build) {
  scf::ParallelOp::create(rewriter, loc, begin, end, step,
                          [&](OpBuilder &, Location, ValueRange indices) {
                            build(indices.front());
                          });
}

void PartsPlan::buildIf(Value condition, function_ref<void()> build) {
  auto branch = scf::IfOp::create(rewriter, loc, condition,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(branch.thenYield());
  build();
}

/// At least one, so that each sequence has a part.
Value PartsPlan::countUnits(Value sequence,
                            function_ref<Value(Value)> getKeys) {
  Value own = make<arith::MinSIOp>(getKeys(sequence), index(greatestNumber));
  own = make<arith::MaxSIOp>(own, index(1));
  return divideUp(own, index(sizes.unit));
}

/// Adds up the units of sequences, those ahead and all of them.
PartsPlan::Place PartsPlan::findPlace(Value sequence,
                                      function_ref<Value(Value)> getKeys) {
  Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, /*width=*/32);
  auto count = [&](OpBuilder &, Value other) -> SmallVector<Value> {
    Value theirs = asWord(countUnits(other, getKeys));
    Value isAhead = compare(arith::CmpIPredicate::slt, other, sequence);
    return {select(isAhead, theirs, zero), theirs};
  };
  ResultRange sums = createParallelSums(rewriter, loc, index(0), sequences,
                                        /*count=*/2, count);
  auto asIndex = [&](Value word) -> Value {
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                      word);
  };
  Place place;
  place.sequence = sequence;
  place.units = countUnits(sequence, getKeys);
  place.before = asIndex(sums[0]);
  place.all = asIndex(sums[1]);
  int64_t least = llvm::divideCeil(sizes.least, sizes.unit);
  place.ofShare = make<arith::MaxUIOp>(divideUp(place.all, shares),
                                       index(std::max<int64_t>(least, 1)));
  place.first = make<arith::DivUIOp>(place.before, place.ofShare);
  Value end = make<arith::AddIOp>(place.before, place.units);
  place.last =
      make<arith::DivUIOp>(make<arith::SubIOp>(end, index(1)), place.ofShare);
  return place;
}

void PartsPlan::store(Value word, Value place) {
  memref::StoreOp::create(rewriter, loc, asWord(word), memory, place);
}

/// Where the first item begins.
Value PartsPlan::getItems() {
  return make<arith::AddIOp>(multiply(processors, index(blockWords)),
                             index(headWords));
}

void PartsPlan::storeItem(Value number, const Item &item, ValueRange numbers) {
  Value first =
      make<arith::AddIOp>(getItems(), multiply(number, index(itemWords)));
  Value words[] = {item.sequence, item.head, item.query,
                   item.firstKey, item.keys, item.slot};
  for (auto [place, word] : llvm::enumerate(words))
    store(word, make<arith::AddIOp>(first, index(static_cast<int64_t>(place))));
  for (auto [place, word] : llvm::enumerate(numbers))
    memref::StoreOp::create(
        rewriter, loc, word, memory,
        make<arith::AddIOp>(first,
                            index(placeWords + static_cast<int64_t>(place))));
}

/// An item of no queries.
void PartsPlan::storeNothing(Value number) {
  Value zero = index(0);
  Value behind = multiply(blocks, index(sizes.queryBlock));
  Value none = arith::ConstantIntOp::create(rewriter, loc, 0, /*width=*/32);
  storeItem(number, {zero, zero, behind, zero, zero, zero},
            SmallVector<Value>(numbers.size(), none));
}

/// Items are in the order of slots. A share is one block for each tile, whose
/// items begin in its first sequence and end in its last one.
void PartsPlan::listPart(const Place &place, Value item) {
  Value part = make<arith::DivUIOp>(item, tiles);
  Value tile = make<arith::RemUIOp>(item, tiles);
  Value share = make<arith::AddIOp>(place.first, part);
  Value begin = multiply(share, place.ofShare);
  Value end = make<arith::AddIOp>(begin, place.ofShare);
  Value ofAll = make<arith::AddIOp>(place.before, place.units);
  auto isAtMost = [&](Value a, Value b) {
    return compare(arith::CmpIPredicate::sle, a, b);
  };
  Value from = make<arith::SubIOp>(make<arith::MaxSIOp>(begin, place.before),
                                   place.before);
  Value to =
      make<arith::SubIOp>(make<arith::MinSIOp>(end, ofAll), place.before);
  Value slot = make<arith::AddIOp>(share, place.sequence);
  Value number = make<arith::AddIOp>(multiply(slot, tiles), tile);
  Value block = make<arith::RemUIOp>(tile, blocks);
  storeItem(number,
            {place.sequence, make<arith::DivUIOp>(tile, blocks),
             multiply(block, index(sizes.queryBlock)),
             multiply(from, index(sizes.unit)),
             multiply(make<arith::SubIOp>(to, from), index(sizes.unit)), slot},
            place.numbers);
  Value threads = make<arith::AddIOp>(multiply(share, tiles), tile);
  Value ofBlock = make<arith::AddIOp>(multiply(threads, index(blockWords)),
                                      index(headWords));
  buildIf(isAtMost(place.before, begin), [&] { store(number, ofBlock); });
  Value isEnd =
      make<arith::OrIOp>(isAtMost(end, ofAll),
                         compare(arith::CmpIPredicate::eq, ofAll, place.all));
  buildIf(isEnd, [&] {
    store(make<arith::AddIOp>(number, index(1)),
          make<arith::AddIOp>(ofBlock, index(1)));
  });
  buildIf(compare(arith::CmpIPredicate::eq, tile, index(0)),
          [&] { listMerge(place, part, share, isEnd); });
}

/// Few sequences have a merge each. Of many, a share has one: of the sequence
/// that goes on behind it and began in it.
void PartsPlan::listMerge(const Place &place, Value part, Value share,
                          Value isEnd) {
  Value isFirst = compare(arith::CmpIPredicate::eq, part, index(0));
  Value goesOn = compare(arith::CmpIPredicate::ugt, place.last, place.first);
  Value parts = make<arith::AddIOp>(
      make<arith::SubIOp>(place.last, place.first), index(1));
  parts = select(both(isFirst, goesOn), parts, index(0));
  Value slot = make<arith::AddIOp>(place.first, place.sequence);
  buildIf(select(areFew, isFirst, isEnd), [&] {
    storeMerge(select(areFew, place.sequence, share),
               {place.sequence, slot, parts});
  });
}

void PartsPlan::storeMerge(Value number, const Merge &merge) {
  Value words[] = {merge.sequence, merge.firstSlot, merge.parts};
  for (auto [place, word] : llvm::enumerate(words))
    store(word, ofMerge(number, static_cast<int64_t>(place)));
}

/// No slot is without an item, and no block without a first one.
void PartsPlan::fillUp(const Place &place) {
  Value zero = index(0), one = index(1);
  Value begin = multiply(place.first, place.ofShare);
  // A sequence that begins a share leaves out a slot.
  Value leavesOut =
      both(compare(arith::CmpIPredicate::eq, begin, place.before),
           compare(arith::CmpIPredicate::ugt, place.sequence, zero));
  Value slot = make<arith::AddIOp>(place.first, place.sequence);
  Value behind = multiply(slot, tiles);
  Value left = make<arith::SubIOp>(behind, tiles);
  forEach(select(leavesOut, left, behind), behind, one,
          [&](Value item) { storeNothing(item); });
  Value used = divideUp(place.all, place.ofShare);
  Value all = make<arith::AddIOp>(make<arith::SubIOp>(used, one), sequences);
  Value items = multiply(all, tiles);
  forEach(make<arith::AddIOp>(items, place.sequence), capacity, sequences,
          [&](Value item) { storeNothing(item); });
  Value idle = make<arith::AddIOp>(multiply(used, tiles), place.sequence);
  Value none = multiply(make<arith::SubIOp>(slots, one), tiles);
  forEach(idle, processors, sequences, [&](Value block) {
    Value at = make<arith::AddIOp>(multiply(block, index(blockWords)),
                                   index(headWords));
    store(none, at);
    store(zero, make<arith::AddIOp>(at, one));
  });
  Value lastMerge = select(areFew, zero, shares);
  forEach(make<arith::AddIOp>(used, place.sequence), lastMerge, sequences,
          [&](Value number) { storeMerge(number, {zero, zero, zero}); });
  buildIf(compare(arith::CmpIPredicate::eq, place.sequence, zero), [&] {
    store(items, zero);
    store(tiles, index(fagpu::workListStride));
  });
}

Value PartsPlan::ofMerge(Value number, int64_t word) {
  Value first =
      make<arith::AddIOp>(getItems(), multiply(capacity, index(itemWords)));
  Value own = multiply(number, index(mergeWords));
  return make<arith::AddIOp>(make<arith::AddIOp>(first, own), index(word));
}

/// An iteration for each sequence, which finds the place of its parts.
void PartsPlan::list(function_ref<Value(Value)> getKeys) {
  OpBuilder::InsertionGuard behind(rewriter);
  rewriter.setInsertionPointAfterValue(memory);
  auto loop =
      scf::ForallOp::create(rewriter, loc, ArrayRef<OpFoldResult>(sequences),
                            ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop.getTerminator());
  Value sequence = loop.getInductionVar(0), one = index(1);
  Place place = findPlace(sequence, getKeys);
  for (Value from : numbers)
    place.numbers.push_back(
        memref::LoadOp::create(rewriter, loc, from, sequence));
  Value parts =
      make<arith::AddIOp>(make<arith::SubIOp>(place.last, place.first), one);
  forEach(index(0), multiply(parts, tiles), one,
          [&](Value item) { listPart(place, item); });
  fillUp(place);
}

//===----------------------------------------------------------------------===//
// What reads it
//===----------------------------------------------------------------------===//

Value PartsPlan::getWord(Value place, int64_t mask) {
  Value word = load(memory, place);
  return make<arith::AndIOp>(word, index(mask));
}

scf::ForallOp PartsPlan::createLoop() {
  Value count =
      arith::MinSIOp::create(rewriter, loc, load(memory, index(0)), capacity);
  return scf::ForallOp::create(rewriter, loc, ArrayRef<OpFoldResult>(count),
                               ValueRange(), std::nullopt);
}

PartsPlan::Item PartsPlan::getItem(Value number) {
  // Numbers of the list are short, and begin blocks.
  int64_t ofQueries = sizes.queryBlock & -sizes.queryBlock;
  int64_t ofKeys = sizes.unit & -sizes.unit;
  int64_t masks[] = {greatestNumber,
                     greatestNumber,
                     greatestNumber & -ofQueries,
                     greatestNumber & -ofKeys,
                     greatestNumber & -ofKeys,
                     greatestNumber};
  Value first =
      make<arith::AddIOp>(getItems(), multiply(number, index(itemWords)));
  SmallVector<Value> words;
  for (auto [place, mask] : llvm::enumerate(masks))
    words.push_back(getWord(
        make<arith::AddIOp>(first, index(static_cast<int64_t>(place))), mask));
  return {words[0], words[1], words[2], words[3], words[4], words[5]};
}

Value PartsPlan::getNumber(Value item, Value from) {
  int64_t place = llvm::find(numbers, from) - numbers.begin();
  Value first =
      make<arith::AddIOp>(getItems(), multiply(item, index(itemWords)));
  return memref::LoadOp::create(
      rewriter, loc, memory,
      make<arith::AddIOp>(first, index(placeWords + place)));
}

Value PartsPlan::countMerges() {
  return make<arith::MinUIOp>(sequences, shares);
}

PartsPlan::Merge PartsPlan::getMerge(Value number) {
  SmallVector<Value> words;
  for (int64_t word = 0; word < mergeWords; ++word)
    words.push_back(getWord(ofMerge(number, word), greatestNumber));
  return {words[0], words[1], words[2]};
}
