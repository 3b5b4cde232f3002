//===- GradientLists.cpp - Lists of blocks of packed sequences ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences have lengths of their own, which the host does not know. A loop
// ahead of a gradient's lists the blocks of rows that there are, so that no
// tile searches its sequence and none is empty. What a tile needs to know of
// its sequence is in the list. Read `listBlocks`, then `loopOverList`;
// SequenceOrder.cpp finds places.
//
//===----------------------------------------------------------------------===//

#include "GradientTiler.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Words of an item: the number of the block in its sequence, the sequence, its
/// rows in the visited operands and in the others, and the number of its first
/// block of numbers of queries.
enum Word {
  ordinal,
  batch,
  firstRow,
  room,
  otherRow,
  queryCount,
  keyCount,
  firstBlock,
  isPossible,
  numWords
};
} // namespace

/// Words ahead of the items, of which the first is how many tiles these are,
/// and of an item: multiples of 16 bytes.
static constexpr int64_t headWords = 8, itemWords = 12;
static_assert(numWords <= itemWords);

/// More than numbers of blocks can be, with all bits below it.
static constexpr int64_t greatestNumber = (int64_t(1) << 30) - 1;

/// Blocks of threads that take one tile after the other go by a list. Sums in
/// one order are of all slots, and tables of blocks of all sequences.
bool GradientTiler::isListed() {
  auto target = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  return target && target.getPart().hasGroups() &&
         !target.getPart().blockTable && queryStarts && keyStarts &&
         getBlockOfNumbers() == keysConfig.getQueryBlock() &&
         !op.getScaleGradient() && op.getCaptureGradients().empty() &&
         op.getSinkCaptureGradients().empty();
}

void GradientTiler::allocateList(RowKind kind, int64_t block) {
  if (findList(kind, block))
    return;
  bool ofQueries = kind == RowKind::queries;
  BlockList list{kind,
                 block,
                 toValue(ofQueries ? heads : keyHeads),
                 getSlots(kind, block).countSlots(),
                 Value(),
                 Value()};
  SequenceViews views(rewriter, loc);
  Value words = make<arith::MulIOp>(list.slots, views.index(itemWords));
  list.firstSum = make<arith::AddIOp>(words, views.index(headWords));
  words = make<arith::AddIOp>(list.firstSum, listCounts.sums);
  // Places in the list are computed in 32 bits.
  cf::AssertOp::create(
      rewriter, loc,
      views.isAtMost(words, views.index(std::numeric_limits<int32_t>::max())),
      "the list of blocks of a gradient has more than 2147483647 words, "
      "expected fewer rows or sequences");
  auto type = MemRefType::get({ShapedType::kDynamic}, rewriter.getI32Type());
  list.memory = fagpu::WorkspaceOp::create(rewriter, loc, type, words);
  lists.push_back(list);
}

const BlockList *GradientTiler::findList(RowKind kind, int64_t block) {
  auto *found = llvm::find_if(lists, [&](const BlockList &list) {
    return list.kind == kind && list.block == block;
  });
  return found == lists.end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// The loop that writes the lists
//===----------------------------------------------------------------------===//

/// Those of a sequence that can be, or of the rows of none. Keys visit a block
/// of numbers also where their sequence has no queries.
Value GradientTiler::countBlocks(const BlockList &list, Value sequence) {
  SequenceViews views(rewriter, loc);
  SlotRows rows = findSlotRows(list.kind, sequence);
  bool ofQueries = list.kind == RowKind::queries;
  SequenceRows own = views.findRows(
      ofQueries ? queryStarts : keyStarts, /*lengths=*/Value(),
      toValue(ofQueries ? queries : keys), rows.batch, /*keepRows=*/true);
  Value count = views.select(rows.isSequence, own.count, rows.room);
  // With a bound that passes see, sums of them are in 32 bits.
  count = make<arith::MinSIOp>(count, views.index(greatestNumber));
  if (isOfNumbers(list))
    count = make<arith::MaxSIOp>(count, views.index(1));
  count = make<arith::AddIOp>(count, views.index(list.block - 1));
  return make<arith::DivUIOp>(count, views.index(list.block));
}

static Value asWord(RewriterBase &rewriter, Location loc, Value value) {
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(),
                                    value);
}

static Value asIndex(RewriterBase &rewriter, Location loc, Value word) {
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                    word);
}

static void storeItem(RewriterBase &rewriter, Location loc, Value memory,
                      Value number, ArrayRef<Value> words) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value first = rewriter.createOrFold<arith::MulIOp>(
      loc, number, index(itemWords), arith::IntegerOverflowFlags::nsw);
  for (auto [place, word] : llvm::enumerate(words))
    memref::StoreOp::create(
        rewriter, loc, word, memory,
        rewriter.createOrFold<arith::AddIOp>(
            loc, first, index(headWords + static_cast<int64_t>(place))));
}

/// A sequence of a list is as long as it has blocks.
SequenceOrder GradientTiler::getOrder(const BlockList &list) {
  auto look = [&](OpBuilder &, Value sequence) {
    Value blocks = countBlocks(list, sequence);
    return SequenceOrder::Sequence{blocks, blocks};
  };
  SequenceOrder::Sums sums;
  if (areMany)
    sums = {listCounts.groups, list.memory, list.firstSum};
  return SequenceOrder(loc, getSlots(list.kind, list.block).countSequences(),
                       look, sums);
}

/// Lists the blocks of a sequence, whose first block of numbers is
/// `firstNumber`. The list of those comes first, in the order of sequences, and
/// gives it; others begin with the longest sequence.
Value GradientTiler::listSequence(const BlockList &list, Value sequence,
                                  Value firstNumber) {
  SequenceViews views(rewriter, loc);
  auto compare = [&](arith::CmpIPredicate by, Value a, Value b) -> Value {
    return arith::CmpIOp::create(rewriter, loc, by, a, b);
  };
  Value none = arith::ConstantIntOp::create(rewriter, loc, 0, /*width=*/32);
  Value one = views.index(1);
  Value own = countBlocks(list, sequence);
  Value sequences = getSlots(list.kind, list.block).countSequences();
  SequenceOrder::Place place =
      getOrder(list).find(rewriter, sequence, firstNumber ? own : Value());
  // Sequences that share rows, which is an error, may have more than the list
  // holds.
  Value before = asIndex(rewriter, loc, place.before),
        all = asIndex(rewriter, loc, place.all);
  Value listed = make<arith::MinSIOp>(all, list.slots);
  Value end = make<arith::MinSIOp>(make<arith::AddIOp>(before, own), listed);
  Value mine = make<arith::SubIOp>(end, make<arith::MinSIOp>(before, end));
  if (!firstNumber)
    firstNumber =
        make<arith::MinSIOp>(before, make<arith::SubIOp>(list.slots, own));

  SlotRows visited = findSlotRows(list.kind, sequence);
  BatchItem item = findSequence(visited.batch, visited);
  bool ofQueries = list.kind == RowKind::queries;
  const ItemRows &rows = ofQueries ? item.queries : item.keys;
  const ItemRows &others = ofQueries ? item.keys : item.queries;
  SmallVector<Value> words(numWords, none);
  auto set = [&](Word word, OpFoldResult value) {
    words[word] = asWord(rewriter, loc, toValue(value));
  };
  set(Word::batch, visited.batch);
  set(Word::firstRow, rows.first);
  set(Word::room, rows.room);
  set(Word::otherRow, others.first);
  set(Word::queryCount, item.queries.length);
  set(Word::keyCount, item.keys.length);
  set(Word::firstBlock, firstNumber);
  words[Word::isPossible] = arith::ExtUIOp::create(
      rewriter, loc, rewriter.getI32Type(), item.isValid);

  auto forEach = [&](Value begin, Value end, Value step,
                     function_ref<void(Value)> build) {
    auto loop = scf::ParallelOp::create(rewriter, loc, begin, end, step);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(loop.getBody()->getTerminator());
    build(loop.getInductionVars().front());
  };
  forEach(views.index(0), mine, one, [&](Value block) {
    words[Word::ordinal] = asWord(rewriter, loc, block);
    storeItem(rewriter, loc, list.memory, make<arith::AddIOp>(before, block),
              words);
  });
  // Blocks of threads may take a tile behind the last one, of no rows.
  forEach(make<arith::AddIOp>(listed, sequence), list.slots, sequences,
          [&](Value place) {
            storeItem(rewriter, loc, list.memory, place,
                      SmallVector<Value>(numWords, none));
          });
  auto branch = scf::IfOp::create(
      rewriter, loc,
      compare(arith::CmpIPredicate::eq, sequence, views.index(0)),
      /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(branch.thenYield());
  Value tiles = make<arith::MulIOp>(listed, list.heads);
  memref::StoreOp::create(rewriter, loc, asWord(rewriter, loc, tiles),
                          list.memory, views.index(0));
  return firstNumber;
}

/// A loop with `count` iterations on the device.
static void forEachOnDevice(RewriterBase &rewriter, Location loc, Value count,
                            function_ref<void(Value)> build) {
  auto loop = scf::ForallOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>(count), ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop.getTerminator());
  build(loop.getInductionVar(0));
}

/// An iteration for each sequence, which finds the places of its blocks in all
/// lists. Of many sequences, sums of groups come first. One of both is run.
void GradientTiler::listBlocks() {
  auto countSequences = [&](RowKind kind) {
    return getSlots(kind, /*block=*/1).countSequences();
  };
  Value sequences = make<arith::MaxUIOp>(countSequences(RowKind::queries),
                                         countSequences(RowKind::keys));
  listCounts = SequenceOrder::count(rewriter, loc, sequences);
  allocateList(RowKind::queries, getBlockOfNumbers());
  allocateList(RowKind::keys, keysConfig.getKeyBlock());
  if (config.getGradientForm() != GradientForm::one_pass)
    allocateList(RowKind::queries, config.getQueryBlock());
  auto listSequences = [&](Value sequence) {
    Value firstNumber;
    for (const BlockList &list : lists)
      firstNumber = listSequence(list, sequence, firstNumber);
  };
  forEachOnDevice(rewriter, loc, listCounts.few, listSequences);
  areMany = true;
  forEachOnDevice(rewriter, loc, listCounts.sums, [&](Value number) {
    for (const BlockList &list : lists)
      getOrder(list).addUp(rewriter, number);
  });
  forEachOnDevice(rewriter, loc, listCounts.many, listSequences);
  areMany = false;
}

//===----------------------------------------------------------------------===//
// A loop that reads one
//===----------------------------------------------------------------------===//

/// The host knows how many blocks there are at most.
void GradientTiler::loopOverList(const BlockList &list, Body body) {
  OpBuilder::InsertionGuard guard(rewriter);
  SequenceViews views(rewriter, loc);
  auto multiply = [&](Value a, Value b) {
    return rewriter.createOrFold<arith::MulIOp>(
        loc, a, b, arith::IntegerOverflowFlags::nsw);
  };
  Value tiles = views.load(list.memory, views.index(0));
  Value most = multiply(list.slots, list.heads);
  OpFoldResult count =
      arith::MinSIOp::create(rewriter, loc, tiles, most).getResult();
  auto loop =
      scf::ForallOp::create(rewriter, loc, ArrayRef<OpFoldResult>(count),
                            ValueRange(), getMapping(1));
  rewriter.setInsertionPoint(loop.getTerminator());
  Value tile = loop.getInductionVar(0);
  Value place = make<arith::DivUIOp>(tile, list.heads);
  Value head = make<arith::RemUIOp>(tile, list.heads);
  Value first = multiply(place, views.index(itemWords));
  auto loadWord = [&](Word word) -> Value {
    Value at = make<arith::AddIOp>(first, views.index(headWords + word));
    return memref::LoadOp::create(rewriter, loc, list.memory, at);
  };
  auto get = [&](Word word) { return asIndex(rewriter, loc, loadWord(word)); };
  // Numbers of blocks are short.
  auto getRow = [&](Word word, int64_t block) {
    Value number = make<arith::AndIOp>(get(word), views.index(greatestNumber));
    return multiply(number, views.index(block));
  };
  bool ofQueries = list.kind == RowKind::queries;
  OpFoldResult zero = rewriter.getIndexAttr(0);
  BatchItem item;
  item.batch = get(Word::batch);
  item.slot = place;
  auto set = [&](ItemRows &rows, bool isVisited, OpFoldResult all,
                 Word length) {
    rows.batch = zero;
    rows.first = get(isVisited ? Word::firstRow : Word::otherRow);
    rows.room = isVisited ? OpFoldResult(get(Word::room)) : all;
    rows.length = get(length);
    rows.hasLength = rows.isSequence = true;
  };
  set(item.queries, ofQueries, queries, Word::queryCount);
  set(item.keys, !ofQueries, keys, Word::keyCount);
  item.firstNumber = getRow(Word::firstBlock, getBlockOfNumbers());
  // A place behind the last one has numbers of its own, too.
  if (isOfNumbers(list))
    item.blockNumber = multiply(place, views.index(list.block));
  Value none = arith::ConstantIntOp::create(rewriter, loc, 0, /*width=*/32);
  item.isValid = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                       loadWord(Word::isPossible), none);
  body(item, head, getRow(Word::ordinal, list.block));
}
