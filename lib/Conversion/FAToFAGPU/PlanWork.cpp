//===- PlanWork.cpp - Lists of the query blocks that there are ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences have lengths of their own, which the host does not know. A loop
// ahead of attention lists their query blocks, the longest sequences first, and
// the loop over tiles goes by that list. Read `WorkPlanner::run`, then
// `listItems` (write) and `takeItems` (read); SequenceOrder.cpp finds places.
//
//===----------------------------------------------------------------------===//

#include "IndexWidths.h"
#include "KernelConfig.h"
#include "TileNumbers.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/SequenceOrder.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPLANWORKPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Words ahead of the items: how many these are, in the first one. As many as
/// keep items at multiples of 32 bytes.
static constexpr int64_t headWords = 8;

/// More than lengths and numbers of blocks can be, with all bits below it.
static constexpr int64_t greatestNumber = (int64_t(1) << 30) - 1;

namespace {
/// Plans the tiles of one loop over (batch, head, first query).
class WorkPlanner {
public:
  WorkPlanner(scf::ForallOp loop, OnlineAttentionOp step)
      : loop(loop), step(step), loc(loop.getLoc()), builder(loop) {}

  LogicalResult run();

private:
  LogicalResult collectSlice(Value value, SetVector<Operation *> &slice);
  LogicalResult findLengths();
  void findLoads();
  void measure();
  void allocate();
  struct Sequence {
    Value keys, blocks, items;
  };
  Sequence look(OpBuilder &at, Value sequence);
  SequenceOrder getOrder(SequenceOrder::Sums sums = {});
  void addUpGroups();
  void listItems(Value iterations, SequenceOrder::Sums sums = {});
  void storeItem(OpBuilder &at, Value place, ArrayRef<Value> words);
  void listSequence(OpBuilder &at, Value sequence, const Sequence &mine,
                    Value before);
  void fillUp(OpBuilder &at, Value sequence, Value all);
  Value getWord(OpBuilder &at, Value place, int64_t number);
  void takeItems();

  template <typename OpTy> Value make(OpBuilder &at, Value a, Value b) {
    return at.createOrFold<OpTy>(loc, a, b);
  }
  Value index(OpBuilder &at, int64_t number) {
    return arith::ConstantIndexOp::create(at, loc, number);
  }
  Value compare(OpBuilder &at, arith::CmpIPredicate by, Value a, Value b) {
    return arith::CmpIOp::create(at, loc, by, a, b);
  }
  Value asWord(OpBuilder &at, Value value) {
    return arith::IndexCastOp::create(at, loc, at.getI32Type(), value);
  }
  Value asIndex(OpBuilder &at, Value word) {
    return arith::IndexCastOp::create(at, loc, at.getIndexType(), word);
  }
  int64_t getQueryBlock() { return step.getConfigAttr().getQueryBlock(); }
  int64_t countWords() {
    return llvm::alignTo(3 + static_cast<int64_t>(loads.size()), 4);
  }

  scf::ForallOp loop;
  OnlineAttentionOp step;
  Location loc;
  OpBuilder builder;
  /// Operations of the loop that the lengths of a sequence are computed from.
  SetVector<Operation *> ofLengths;
  /// Numbers that a tile reads of its place alone, and what these depend on.
  SmallVector<memref::LoadOp> loads;
  SetVector<Operation *> ofLoads;
  /// Of the host: sequences, heads, and most items.
  Value sequences, heads, capacity;
  SequenceOrder::Counts counts;
  /// The list, and behind it sums of groups of sequences.
  Value table;
  SequenceOrder::Sums ofGroups;
};
} // namespace

/// Adds the operations of the loop that make `value`. Fails where these do more
/// than compute and load scalars.
LogicalResult WorkPlanner::collectSlice(Value value,
                                        SetVector<Operation *> &slice) {
  SetVector<Operation *> found;
  auto isKnown = [&](Value next) {
    Operation *source = next.getDefiningOp();
    return !source || !loop->isProperAncestor(source) ||
           slice.contains(source) || found.contains(source);
  };
  visitOperandsFirst(
      value, isKnown, [&](Value next) { found.insert(next.getDefiningOp()); },
      fagpu::getReadValues);
  for (Operation *op : found)
    if (!fagpu::isRoleScalar(op) || op->getBlock() != loop.getBody())
      return failure();
  slice.insert(found.begin(), found.end());
  return success();
}

/// Lengths are of a sequence: its heads and query blocks have the same.
LogicalResult WorkPlanner::findLengths() {
  for (Value length : step.getExtents())
    if (failed(collectSlice(length, ofLengths)))
      return step.emitOpError()
             << "has a length that is no scalar of its tile, expected one "
                "computed from what is loaded for its sequence";
  for (Operation *op : ofLengths)
    for (Value read : fagpu::getReadValues(op))
      if (llvm::is_contained(
              ArrayRef<Value>(loop.getInductionVars()).drop_front(), read))
        return step.emitOpError() << "has a length that depends on the head or "
                                     "the query, expected one of the sequence";
  return success();
}

/// A tile that waits for its number waits for these behind it: they come with
/// its item.
void WorkPlanner::findLoads() {
  for (auto load : loop.getBody()->getOps<memref::LoadOp>()) {
    if (!load.getType().isInteger(32) ||
        loop.getRegion().isAncestor(load.getMemRef().getParentRegion()))
      continue;
    SetVector<Operation *> slice(ofLoads);
    if (llvm::all_of(load.getIndices(), [&](Value at) {
          return succeeded(collectSlice(at, slice));
        })) {
      ofLoads = slice;
      ofLoads.insert(load);
      loads.push_back(load);
    }
  }
}

/// What the host knows. Sequences that share no rows have at most one block
/// more each than all rows.
void WorkPlanner::measure() {
  auto bound = [&](unsigned dim) {
    return getValueOrCreateConstantIndexOp(builder, loc,
                                           loop.getMixedUpperBound()[dim]);
  };
  sequences = bound(0);
  heads = bound(1);
  Value rows = bound(2);
  Value whole =
      make<arith::DivUIOp>(builder, rows, index(builder, getQueryBlock()));
  Value some = make<arith::MinUIOp>(builder, sequences, index(builder, 1));
  whole = multiplyShort(builder, loc, whole, some);
  Value blocks = make<arith::AddIOp>(builder, whole, sequences);
  capacity = multiplyShort(builder, loc, blocks, heads);
}

void WorkPlanner::allocate() {
  Value words =
      make<arith::MulIOp>(builder, capacity, index(builder, countWords()));
  Value firstSum =
      make<arith::AddIOp>(builder, words, index(builder, headWords));
  counts = SequenceOrder::count(builder, loc, sequences);
  words = make<arith::AddIOp>(builder, firstSum, counts.sums);
  // Places in the list are computed in 32 bits.
  Value fits = compare(builder, arith::CmpIPredicate::sle, words,
                       index(builder, std::numeric_limits<int32_t>::max()));
  cf::AssertOp::create(builder, loc, fits,
                       "the list of query blocks has more than 2147483647 "
                       "words, expected fewer rows or heads");
  auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI32Type());
  table = fagpu::WorkspaceOp::create(builder, loc, type, words);
  ofGroups = {counts.groups, table, firstSum};
}

//===----------------------------------------------------------------------===//
// The loop that writes the list
//===----------------------------------------------------------------------===//

/// Keys, query blocks and items of a sequence.
WorkPlanner::Sequence WorkPlanner::look(OpBuilder &at, Value sequence) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(0), sequence);
  for (Operation *op : ofLengths)
    at.clone(*op, mapping);
  // Lengths are short, as numbers of the plan are.
  auto getLength = [&](Value length) {
    length = make<arith::MinSIOp>(at, mapping.lookupOrDefault(length),
                                  index(at, greatestNumber));
    return make<arith::MaxSIOp>(at, length, index(at, 0));
  };
  Value queries = getLength(step.getExtents()[0]),
        keys = getLength(step.getExtents()[1]);
  Value more = make<arith::AddIOp>(at, queries, index(at, getQueryBlock() - 1));
  Value blocks = make<arith::DivUIOp>(at, more, index(at, getQueryBlock()));
  return {keys, blocks, multiplyShort(at, loc, blocks, heads)};
}

/// Sequences with many keys come first.
SequenceOrder WorkPlanner::getOrder(SequenceOrder::Sums sums) {
  auto lookAt = [&](OpBuilder &at, Value sequence) {
    Sequence found = look(at, sequence);
    return SequenceOrder::Sequence{found.keys, found.items};
  };
  return SequenceOrder(loc, sequences, lookAt, sums);
}

void WorkPlanner::storeItem(OpBuilder &at, Value place, ArrayRef<Value> words) {
  Value first = multiplyShort(at, loc, place, index(at, countWords()));
  for (auto [number, word] : llvm::enumerate(words)) {
    Value where = make<arith::AddIOp>(
        at, first, index(at, headWords + static_cast<int64_t>(number)));
    memref::StoreOp::create(at, loc, word, table, where);
  }
}

/// Heads whose keys and values stay in the L2 cache are worked on together, the
/// last query block first: under a causal mask it sees the most keys.
void WorkPlanner::listSequence(OpBuilder &at, Value sequence,
                               const Sequence &mine, Value before) {
  Value one = index(at, 1);
  Value together =
      make<arith::DivUIOp>(at, index(at, countCachedKeys(step)),
                           make<arith::MaxSIOp>(at, mine.keys, one));
  together = make<arith::MaxUIOp>(at, together, one);
  together = make<arith::MinUIOp>(at, together, heads);
  Value ofGroup = multiplyShort(at, loc, together, mine.blocks);
  auto list = [&](OpBuilder &in, Location, ValueRange indices) {
    Value item = indices.front();
    Value group = make<arith::DivUIOp>(in, item, ofGroup);
    Value inGroup = make<arith::RemUIOp>(in, item, ofGroup);
    Value firstHead = multiplyShort(in, loc, group, together);
    Value here = make<arith::MinUIOp>(
        in, together, make<arith::SubIOp>(in, heads, firstHead));
    Value fromEnd = make<arith::DivUIOp>(in, inGroup, here);
    Value head = make<arith::AddIOp>(in, firstHead,
                                     make<arith::RemUIOp>(in, inGroup, here));
    Value block = make<arith::SubIOp>(
        in, make<arith::SubIOp>(in, mine.blocks, one), fromEnd);
    Value query = multiplyShort(in, loc, block, index(in, getQueryBlock()));
    IRMapping mapping;
    SmallVector<Value> place = {sequence, head, query}, words;
    mapping.map(loop.getInductionVars(), place);
    for (Value number : place)
      words.push_back(asWord(in, number));
    for (Operation *op : ofLoads)
      in.clone(*op, mapping);
    for (memref::LoadOp load : loads)
      words.push_back(mapping.lookup(load.getResult()));
    Value inList = make<arith::AddIOp>(in, before, item);
    // Sequences that share rows, which is an error, may have more.
    Value fits = compare(in, arith::CmpIPredicate::slt, inList, capacity);
    auto branch = scf::IfOp::create(in, loc, fits, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    storeItem(then, inList, words);
  };
  scf::ParallelOp::create(at, loc, index(at, 0), mine.items, one, list);
}

/// Blocks may take a tile behind the last item: a sequence of no rows.
void WorkPlanner::fillUp(OpBuilder &at, Value sequence, Value all) {
  Value first = make<arith::AddIOp>(at, all, sequence);
  auto fill = [&](OpBuilder &in, Location, ValueRange indices) {
    Value zero = arith::ConstantIntOp::create(in, loc, 0, /*width=*/32);
    storeItem(in, indices.front(), SmallVector<Value>(3 + loads.size(), zero));
  };
  scf::ParallelOp::create(at, loc, first, capacity, sequences, fill);
}

static scf::ForallOp createForall(OpBuilder &builder, Location loc,
                                  Value count) {
  return scf::ForallOp::create(builder, loc,
                               ArrayRef<OpFoldResult>(builder.getIndexAttr(0)),
                               ArrayRef<OpFoldResult>(count),
                               ArrayRef<OpFoldResult>(builder.getIndexAttr(1)),
                               ValueRange(), std::nullopt);
}

/// An iteration for each sum of a group, where there are many sequences.
void WorkPlanner::addUpGroups() {
  auto adding = createForall(builder, loc, counts.sums);
  OpBuilder in(adding.getBody()->getTerminator());
  getOrder(ofGroups).addUp(in, adding.getInductionVar(0));
}

/// An iteration for each sequence, or for none, which finds the place of its
/// items.
void WorkPlanner::listItems(Value iterations, SequenceOrder::Sums sums) {
  auto listing = createForall(builder, loc, iterations);
  OpBuilder in(listing.getBody()->getTerminator());
  Value sequence = listing.getInductionVar(0);
  Sequence mine = look(in, sequence);
  SequenceOrder::Place place = getOrder(sums).find(in, sequence, mine.keys);
  Value before = asIndex(in, place.before), all = asIndex(in, place.all);
  listSequence(in, sequence, mine, before);
  fillUp(in, sequence, all);
  Value isFirst = compare(in, arith::CmpIPredicate::eq, sequence, index(in, 0));
  auto branch = scf::IfOp::create(in, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  Value count = make<arith::MinSIOp>(then, all, capacity);
  memref::StoreOp::create(then, loc, asWord(then, count), table,
                          index(then, 0));
}

//===----------------------------------------------------------------------===//
// The loop that reads it
//===----------------------------------------------------------------------===//

Value WorkPlanner::getWord(OpBuilder &at, Value place, int64_t number) {
  Value first = multiplyShort(at, loc, place, index(at, countWords()));
  Value where = make<arith::AddIOp>(at, first, index(at, headWords + number));
  return memref::LoadOp::create(at, loc, table, where);
}

/// A loop over places in the list, up to the last one. The host knows how many
/// there are at most.
void WorkPlanner::takeItems() {
  Value listed = asIndex(
      builder, memref::LoadOp::create(builder, loc, table, index(builder, 0)));
  Value count = arith::MinSIOp::create(builder, loc, listed, capacity);
  auto planned = createForall(builder, loc, count);
  OpBuilder in(planned.getBody()->getTerminator());
  Value tile = planned.getInductionVar(0);
  // Numbers of the plan are short, and queries begin a block.
  int64_t ofBlocks = getQueryBlock() & -getQueryBlock();
  int64_t masks[] = {greatestNumber, greatestNumber,
                     greatestNumber & -ofBlocks};
  for (auto [number, induction] : llvm::enumerate(loop.getInductionVars())) {
    Value word = asIndex(in, getWord(in, tile, static_cast<int64_t>(number)));
    induction.replaceAllUsesWith(
        make<arith::AndIOp>(in, word, index(in, masks[number])));
  }
  for (auto [number, load] : llvm::enumerate(loads)) {
    load.replaceAllUsesWith(
        getWord(in, tile, 3 + static_cast<int64_t>(number)));
    load.erase();
  }
  Block *body = planned.getBody();
  body->getOperations().splice(
      body->getTerminator()->getIterator(), loop.getBody()->getOperations(),
      loop.getBody()->begin(), loop.getBody()->getTerminator()->getIterator());
  loop.erase();
}

LogicalResult WorkPlanner::run() {
  if (failed(findLengths()))
    return failure();
  findLoads();
  measure();
  allocate();
  listItems(counts.few);
  addUpGroups();
  listItems(counts.many, ofGroups);
  takeItems();
  return success();
}

/// Whether the loop goes over sequences that have rows in the same memory, and
/// as many as the device knows.
static bool isOverPackedRows(scf::ForallOp loop, OnlineAttentionOp step) {
  if (loop.getRank() != 3 || step.getExtents().empty() ||
      isConstantIntValue(loop.getMixedUpperBound()[0], 1))
    return false;
  Value memory = step.getQuery();
  while (auto view = memory.getDefiningOp<memref::SubViewOp>())
    memory = view.getSource();
  auto type = cast<MemRefType>(memory.getType());
  int64_t batch = step.getQueryOrder().positionOf(DimKind::Batch);
  if (loop.getRegion().isAncestor(memory.getParentRegion()) ||
      type.getRank() != step.getQueryOrder().getRank() ||
      type.getDimSize(batch) != 1)
    return false;
  SetVector<Operation *> made;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  return succeeded(getBackwardSlice(step.getExtents()[0], &made, options)) &&
         llvm::any_of(made, llvm::IsaPred<memref::LoadOp>);
}

/// Rows in pages are as many as their operation says.
static void countPagedRows(func::FuncOp function) {
  function.walk([](memref::DimOp dim) {
    auto rows = dim.getSource().getDefiningOp<PagedRowsOp>();
    if (rows && dim.getConstantIndex() == 1)
      dim.getResult().replaceAllUsesWith(rows.getCount());
  });
}

namespace {
struct PlanWorkPass : public fa::impl::FAPlanWorkPassBase<PlanWorkPass> {
  void runOnOperation() override {
    countPagedRows(getOperation());
    SmallVector<std::pair<scf::ForallOp, OnlineAttentionOp>> planned;
    getOperation().walk([&](OnlineAttentionOp step) {
      auto loop = step->getParentOfType<scf::ForallOp>();
      if (loop && getGPUPart(step.getConfigAttr()).hasGroups() &&
          isOverPackedRows(loop, step))
        planned.push_back({loop, step});
    });
    for (auto [loop, step] : planned) {
      int64_t queries = step.getConfigAttr().getQueryBlock();
      remark::passed(loop.getLoc(),
                     remark::RemarkOpts::name("Plan").category("fa-plan-work"))
          << llvm::formatv(
                 "a list of blocks of {0} queries, the longest sequences first",
                 queries)
                 .str();
      if (failed(WorkPlanner(loop, step).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
