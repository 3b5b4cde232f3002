//===- ListBlocks.cpp - Tables of the blocks that masks leave -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For masks whose visited blocks no closed form gives: a loop ahead of a step
// fills a table with the full and partial key blocks of each query block, or
// query blocks of each key block, as FlexAttention's block mask does. Read
// `run`, then `fillTable` (write) and `visitListed` (read).
//
//===----------------------------------------------------------------------===//

#include "BlockTable.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FALISTBLOCKSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Blocks that are asked about together before each is: a group whose bounds
/// leave no pair is passed over at once.
static constexpr int64_t groupBlocks = 8;

namespace {
/// Makes the ranges of one block, of queries or of keys, go by a list.
class BlockLister {
public:
  BlockLister(BlockRangesOpInterface ranges, AttentionLikeOpInterface step,
              ConfigAttr config)
      : ranges(ranges), step(step), config(config),
        visitsKeys(isa<KeyRangesOp>(*ranges)), loc(ranges.getLoc()),
        builder(ranges) {}

  /// Why there can be no table; empty where there can.
  std::string getObstacle();
  void run();

private:
  Value getWhole(Value block);
  Value getLength(Value memory, DimsAttr order);
  Value getExtent(bool ofKeys, bool isRead);
  void findNeeds();
  void need(Value value);
  bool isInLoop(Value value) {
    return loop.getRegion().isAncestor(value.getParentRegion());
  }
  Value getVisited() { return ranges.getBodyRegion().getArgument(0); }
  int64_t getStep() { return static_cast<int64_t>(ranges.getStep()); }
  using Body = function_ref<void(OpBuilder &, Location, Value first,
                                 Value count, ValueRange carried)>;
  BlockRangesOpInterface createRanges(OpBuilder &at, ValueRange begins,
                                      ValueRange ends, ArrayRef<bool> full,
                                      int64_t size, ValueRange inits,
                                      Body body);
  void fillTable();
  void fillRow(OpBuilder &at, const IRMapping &mapping, BlockTable::Row row);
  SummarizeMaskOp summarize(OpBuilder &in, const IRMapping &mapping,
                            Value first, int64_t size);
  ValueRange listGroup(OpBuilder &at, const IRMapping &mapping,
                       BlockTable::Row row, Value begin, Value end,
                       ValueRange listed);
  void visitListed();

  template <typename OpTy> Value make(OpBuilder &at, Value a, Value b) {
    return at.createOrFold<OpTy>(loc, a, b);
  }
  Value index(OpBuilder &at, int64_t number) {
    return arith::ConstantIndexOp::create(at, loc, number);
  }

  BlockRangesOpInterface ranges;
  AttentionLikeOpInterface step;
  ConfigAttr config;
  bool visitsKeys;
  scf::ForallOp loop;
  /// The loop over the query heads of a key head; null where there is one.
  scf::ForOp members;
  Location loc;
  OpBuilder builder;
  /// The memory that all visited rows are in, from outside the loop.
  Value visited;
  /// What the mask reads of the place of a pair and of the lengths.
  SmallVector<Value> offsets, extents;
  /// Operations of the loop that make the bounds and the place, in order, and
  /// the dimensions of the loop that they depend on.
  SetVector<Operation *> needed;
  llvm::SmallSetVector<unsigned, 4> dims;
  std::optional<BlockTable> table;
};
} // namespace

std::string BlockLister::getObstacle() {
  Operation *parent = ranges->getParentOp();
  members = dyn_cast<scf::ForOp>(parent);
  if (members)
    parent = members->getParentOp();
  loop = dyn_cast<scf::ForallOp>(parent);
  if (!loop || !isa<func::FuncOp, scf::IfOp>(loop->getParentOp()))
    return visitsKeys ? "there is one query block" : "there is one key block";
  visited = getWhole(visitsKeys ? step.getKey() : step.getQuery());
  if (!visited)
    return std::string("its ") + (visitsKeys ? "keys" : "queries") +
           " are no slice of memory from outside of the loop";
  if (llvm::any_of(step.getMaskCaptures(),
                   [&](Value capture) { return isInLoop(capture); }))
    return "its mask captures what the loop makes";
  // A list is one for all of them.
  if (members && !step.getMask().getArgument(1).use_empty())
    return "its mask differs between the query heads of a key head";
  return "";
}

/// Adds what the loop computes `value` from.
void BlockLister::need(Value value) {
  auto isKnown = [&](Value next) {
    auto argument = dyn_cast<BlockArgument>(next);
    if (argument && argument.getOwner() == loop.getBody())
      return dims.contains(argument.getArgNumber());
    return argument || !isInLoop(next) || needed.contains(next.getDefiningOp());
  };
  visitOperandsFirst(
      value, isKnown,
      [&](Value next) {
        if (auto argument = dyn_cast<BlockArgument>(next))
          dims.insert(argument.getArgNumber());
        else
          needed.insert(next.getDefiningOp());
      },
      fagpu::getReadValues);
}

/// The memory outside of the loop that a block of one is a slice of; null where
/// there is none of the same rank.
Value BlockLister::getWhole(Value block) {
  Value whole = block;
  while (isInLoop(whole) && whole.getDefiningOp<memref::SubViewOp>())
    whole = whole.getDefiningOp<memref::SubViewOp>().getSource();
  bool isWhole =
      !isInLoop(whole) && cast<MemRefType>(whole.getType()).getRank() ==
                              cast<MemRefType>(block.getType()).getRank();
  return isWhole ? whole : Value();
}

/// The size of the sequence dimension of queries or keys.
Value BlockLister::getLength(Value memory, DimsAttr order) {
  OpBuilder host(loop);
  return memref::DimOp::create(host, loc, memory,
                               order.positionOf(DimKind::Sequence));
}

/// Where queries or keys end. Lengths of batch items would make rows for each
/// of these: where the mask does not ask for them (`isRead`), what no length
/// exceeds is enough. A piece of a problem does not begin with the first one,
/// and its memory ends elsewhere.
Value BlockLister::getExtent(bool ofKeys, bool isRead) {
  Value offset = step.getOffsets()[ofKeys ? 3 : 2];
  auto argument = dyn_cast<BlockArgument>(offset);
  bool hasAll = ofKeys == visitsKeys
                    ? offset == getVisited()
                    : (argument && argument.getOwner() == loop.getBody()) ||
                          isConstantIntValue(offset, 0);
  if (isRead || !hasAll)
    return step.getExtents()[ofKeys ? 1 : 0];
  Value whole = getWhole(ofKeys ? step.getKey() : step.getQuery());
  if (!whole)
    return index(builder, 0);
  return getLength(whole, ofKeys ? step.getKeyOrder() : step.getQueryOrder());
}

/// The table has rows for what the mask depends on, and no more.
void BlockLister::findNeeds() {
  Block &mask = step.getMask().front();
  Value zero = index(builder, 0);
  for (auto [number, offset] : llvm::enumerate(step.getOffsets()))
    offsets.push_back(mask.getArgument(number).use_empty() ? zero : offset);
  extents = {getExtent(/*ofKeys=*/false, !mask.getOps<QueryLengthOp>().empty()),
             getExtent(/*ofKeys=*/true, !mask.getOps<KeyLengthOp>().empty())};
  for (Value value : llvm::concat<Value>(offsets, extents))
    need(value);
  need(ranges.getBegins().front());
  need(ranges.getEnds().back());
  SmallVector<unsigned> sorted(dims.begin(), dims.end());
  llvm::sort(sorted);
  dims.clear();
  dims.insert(sorted.begin(), sorted.end());
}

BlockRangesOpInterface
BlockLister::createRanges(OpBuilder &at, ValueRange begins, ValueRange ends,
                          ArrayRef<bool> full, int64_t size, ValueRange inits,
                          Body body) {
  if (visitsKeys)
    return KeyRangesOp::create(at, loc, begins, ends, full, size, inits, body);
  return QueryRangesOp::create(at, loc, begins, ends, full, size, inits, body);
}

//===----------------------------------------------------------------------===//
// The loop that fills the table
//===----------------------------------------------------------------------===//

void BlockLister::fillTable() {
  OpBuilder host(loop);
  SmallVector<OpFoldResult> lower, upper, steps;
  for (unsigned dim : dims) {
    lower.push_back(loop.getMixedLowerBound()[dim]);
    upper.push_back(loop.getMixedUpperBound()[dim]);
    steps.push_back(loop.getMixedStep()[dim]);
  }
  if (dims.empty()) {
    lower.push_back(host.getIndexAttr(0));
    upper.push_back(host.getIndexAttr(1));
    steps.push_back(host.getIndexAttr(1));
  }
  auto filling = scf::ForallOp::create(host, loc, lower, upper, steps,
                                       ValueRange(), std::nullopt);
  OpBuilder inside(filling.getBody()->getTerminator());
  SmallVector<Value> indices(filling.getInductionVars());
  IRMapping mapping;
  for (auto [dim, induction] :
       llvm::zip(dims, ArrayRef(indices).take_front(dims.size())))
    mapping.map(loop.getInductionVar(dim), induction);
  Operation *ofRanges = ranges;
  for (Operation *op : needed)
    if (!ofRanges->isAncestor(op))
      inside.clone(*op, mapping);
  fillRow(inside, mapping,
          table->getRow(inside, ArrayRef(indices).take_front(dims.size())));
}

/// Asks the mask about `size` keys or queries from `first` on. Of more than one
/// block, bounds answer.
SummarizeMaskOp BlockLister::summarize(OpBuilder &in, const IRMapping &mapping,
                                       Value first, int64_t size) {
  IRMapping ofBlock(mapping);
  ofBlock.map(getVisited(), first);
  for (Operation *op : needed)
    if (ranges->isAncestor(op))
      in.clone(*op, ofBlock);
  auto inBlock = [&](Value value) { return ofBlock.lookupOrDefault(value); };
  SmallVector<Value> place = llvm::map_to_vector(offsets, inBlock),
                     lengths = llvm::map_to_vector(extents, inBlock);
  auto summary = SummarizeMaskOp::create(
      in, loc, in.getI1Type(), in.getI1Type(),
      visitsKeys ? config.getQueryBlock() : size,
      visitsKeys ? size : config.getKeyBlock(), place, lengths,
      step.getMaskCaptures(), /*by_bounds=*/size > getStep());
  IRMapping captured;
  step.getMask().cloneInto(&summary.getMask(), captured);
  return summary;
}

/// Lists the blocks from `begin` to `end`; `listed` is how many full and
/// partial ones are listed before.
ValueRange BlockLister::listGroup(OpBuilder &at, const IRMapping &mapping,
                                  BlockTable::Row row, Value begin, Value end,
                                  ValueRange listed) {
  Value origin = mapping.lookupOrDefault(ranges.getBegins().front());
  auto visitBlock = [&](OpBuilder &in, Location, Value first, Value count,
                        ValueRange listed) {
    Value one = index(in, 1), zero = index(in, 0);
    SummarizeMaskOp summary = summarize(in, mapping, first, getStep());
    Value isWhole = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sge,
                                          count, index(in, getStep()));
    Value isFull = arith::AndIOp::create(in, loc, summary.getEvery(), isWhole);
    Value isPartial = arith::AndIOp::create(
        in, loc, summary.getSome(),
        arith::XOrIOp::create(
            in, loc, isFull,
            arith::ConstantIntOp::create(in, loc, 1, /*width=*/1)));
    Value number = make<arith::SubIOp>(in, first, origin);
    number = make<arith::DivUIOp>(in, number, index(in, getStep()));
    auto list = [&](Value condition, Value place) {
      auto branch =
          scf::IfOp::create(in, loc, condition, /*withElseRegion=*/false);
      OpBuilder then = branch.getThenBodyBuilder();
      table->store(then, number, place);
    };
    list(isFull, make<arith::AddIOp>(in, row.first, listed[0]));
    list(isPartial, make<arith::SubIOp>(in, row.last, listed[1]));
    auto countIf = [&](Value condition, Value before) -> Value {
      Value more = arith::SelectOp::create(in, loc, condition, one, zero);
      return arith::AddIOp::create(in, loc, before, more);
    };
    YieldOp::create(
        in, loc,
        ValueRange{countIf(isFull, listed[0]), countIf(isPartial, listed[1])});
  };
  return createRanges(at, begin, end, {false}, getStep(), listed, visitBlock)
      ->getResults();
}

void BlockLister::fillRow(OpBuilder &at, const IRMapping &mapping,
                          BlockTable::Row row) {
  Value zero = index(at, 0);
  // A list of no block names the first one, which is then visited in vain.
  table->store(at, zero, row.last);
  Value begin = mapping.lookupOrDefault(ranges.getBegins().front()),
        end = mapping.lookupOrDefault(ranges.getEnds().back());
  int64_t groupSize = groupBlocks * getStep();
  auto visitGroup = [&](OpBuilder &in, Location, Value first, Value,
                        ValueRange listed) {
    SummarizeMaskOp summary = summarize(in, mapping, first, groupSize);
    Value groupEnd = make<arith::AddIOp>(in, first, index(in, groupSize));
    groupEnd = arith::MinSIOp::create(in, loc, groupEnd, end);
    auto branch = scf::IfOp::create(in, loc, TypeRange(listed),
                                    summary.getSome(), /*withElseRegion=*/true);
    OpBuilder visible = branch.getThenBodyBuilder();
    scf::YieldOp::create(
        visible, loc,
        listGroup(visible, mapping, row, first, groupEnd, listed));
    OpBuilder hidden = branch.getElseBodyBuilder();
    scf::YieldOp::create(hidden, loc, listed);
    YieldOp::create(in, loc, branch.getResults());
  };
  auto visits = createRanges(at, begin, end, {false}, groupSize, {zero, zero},
                             visitGroup);
  table->store(at, visits->getResult(0), row.numFull);
  table->store(at, visits->getResult(1), row.numPartial);
}

//===----------------------------------------------------------------------===//
// The loop that reads it
//===----------------------------------------------------------------------===//

/// Ranges over the list, full blocks first, in place of those over the keys or
/// queries. All query heads of a key head have the same list.
void BlockLister::visitListed() {
  OpBuilder front(members ? members.getOperation() : ranges.getOperation());
  SmallVector<Value> indices;
  for (unsigned dim : dims)
    indices.push_back(loop.getInductionVar(dim));
  BlockTable::Row row = table->getRow(front, indices);
  Value zero = index(front, 0), size = index(front, getStep());
  Value numFull = table->load(front, row.numFull);
  Value numPartial = table->load(front, row.numPartial);
  Value fullEnd = multiplyShort(front, loc, numFull, size);
  Value all = make<arith::AddIOp>(front, numFull, numPartial);
  Value listEnd = multiplyShort(front, loc, all, size);
  // The place of a full block counts from the front, of a partial one from the
  // end.
  Value ofPartial = make<arith::AddIOp>(front, row.last, numFull);
  Value begin = ranges.getBegins().front(), end = ranges.getEnds().back();
  builder.setInsertionPoint(ranges);
  BlockRangesOpInterface listed =
      createRanges(builder, {zero, fullEnd}, {fullEnd, listEnd}, {true, false},
                   getStep(), ranges.getInits(), nullptr);
  listed.getBodyRegion().takeBody(ranges.getBodyRegion());
  ranges->replaceAllUsesWith(listed->getResults());

  Block &body = listed.getBodyRegion().front();
  Value at = body.getArgument(0), left = body.getArgument(1);
  OpBuilder in = OpBuilder::atBlockBegin(&body);
  // Copies ahead of the last block ask for one before the first.
  auto inList = arith::MaxSIOp::create(in, loc, at, zero);
  Value position = make<arith::DivUIOp>(in, inList, size);
  Value isPartial = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sge,
                                          position, numFull);
  Value place = arith::SelectOp::create(
      in, loc, isPartial, make<arith::SubIOp>(in, ofPartial, position),
      make<arith::AddIOp>(in, row.first, position));
  Value number = table->load(in, place);
  Value first = multiplyShort(in, loc, number, size);
  first = make<arith::AddIOp>(in, begin, first);
  Value count = make<arith::SubIOp>(in, end, first);
  count = arith::MinSIOp::create(in, loc, count, size);
  at.replaceAllUsesExcept(first, inList);
  left.replaceAllUsesWith(count);
  ranges->erase();
}

void BlockLister::run() {
  findNeeds();
  table.emplace(loop, dims.getArrayRef(),
                getLength(visited, visitsKeys ? step.getKeyOrder()
                                              : step.getQueryOrder()),
                getStep());
  fillTable();
  visitListed();
}

static ConfigAttr getConfig(Operation *step) {
  return llvm::TypeSwitch<Operation *, ConfigAttr>(step)
      .Case<OnlineAttentionOp, GradientKeysOp, GradientQueriesOp>(
          [](auto op) { return op.getConfigAttr(); })
      .Default([](Operation *) { return ConfigAttr(); });
}

/// The step of ranges whose mask is to be looked up; null for others.
static AttentionLikeOpInterface findStep(BlockRangesOpInterface ranges) {
  auto steps = ranges.getBodyRegion().getOps<AttentionLikeOpInterface>();
  if (!llvm::hasSingleElement(steps) || ranges.getBegins().empty())
    return {};
  AttentionLikeOpInterface step = *steps.begin();
  if (!getGPUPart(getConfig(step)).blockTable || step.getMask().empty() ||
      step.getOffsets().empty() || step.getExtents().empty())
    return {};
  auto visited =
      isa<KeyRangesOp>(*ranges) ? VisitedIndex::Key : VisitedIndex::Query;
  return KeyRangeAnalysis(step.getMask(), visited).getObstacles().empty()
             ? AttentionLikeOpInterface()
             : step;
}

namespace {
struct ListBlocksPass : public fa::impl::FAListBlocksPassBase<ListBlocksPass> {
  void runOnOperation() override {
    SmallVector<BlockRangesOpInterface> all;
    getOperation().walk([&](BlockRangesOpInterface op) { all.push_back(op); });
    for (BlockRangesOpInterface ranges : all) {
      AttentionLikeOpInterface step = findStep(ranges);
      if (!step)
        continue;
      StringRef visited = isa<KeyRangesOp>(*ranges) ? "key" : "query";
      BlockLister lister(ranges, step, getConfig(step));
      std::string obstacle = lister.getObstacle();
      auto options =
          remark::RemarkOpts::name("BlockTable").category("fa-list-blocks");
      if (!obstacle.empty()) {
        remark::missed(step.getLoc(), options)
            << "no table of visited blocks: " + obstacle;
        continue;
      }
      remark::passed(step.getLoc(), options)
          << "a table lists the " + visited.str() +
                 " blocks that the mask leaves";
      lister.run();
    }
  }
};
} // namespace
