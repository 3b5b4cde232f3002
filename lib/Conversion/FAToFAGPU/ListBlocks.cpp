//===- ListBlocks.cpp - Tables of the key blocks that masks leave ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For masks whose visited key blocks no closed form gives: a loop ahead of
// attention fills a table with the full and partial key blocks of each query
// block, as FlexAttention's block mask does. Read `run`, then `fillTable`
// (write) and `visitListed` (read).
//
//===----------------------------------------------------------------------===//

#include "BlockTable.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "RoleScalars.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

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
/// Makes the ranges of one query block go by a list.
class BlockLister {
public:
  BlockLister(KeyRangesOp ranges, OnlineAttentionOp step)
      : ranges(ranges), step(step), loc(ranges.getLoc()), builder(ranges) {}

  /// Why there can be no table; empty where there can.
  std::string getObstacle();
  void run();

private:
  Value getWhole(Value block);
  Value getLength(Value memory, DimsAttr order);
  void findNeeds();
  void need(Value value);
  bool isInLoop(Value value) {
    return loop.getRegion().isAncestor(value.getParentRegion());
  }
  void fillTable();
  void fillRow(OpBuilder &at, const IRMapping &mapping, BlockTable::Row row);
  SummarizeMaskOp summarize(OpBuilder &in, const IRMapping &mapping, Value key,
                            int64_t keys);
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

  KeyRangesOp ranges;
  OnlineAttentionOp step;
  scf::ForallOp loop;
  Location loc;
  OpBuilder builder;
  /// The memory that all keys are in, from outside the loop.
  Value keys;
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
  loop = dyn_cast<scf::ForallOp>(ranges->getParentOp());
  if (!loop || !isa<func::FuncOp, scf::IfOp>(loop->getParentOp()))
    return "there is one query block";
  keys = getWhole(step.getKey());
  if (!keys)
    return "its keys are no slice of memory from outside of the loop";
  if (llvm::any_of(step.getMaskCaptures(),
                   [&](Value capture) { return isInLoop(capture); }))
    return "its mask captures what the loop makes";
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
      getReadValues);
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

/// The table has rows for what the mask depends on, and no more.
void BlockLister::findNeeds() {
  Block &mask = step.getMask().front();
  Value zero = index(builder, 0);
  for (auto [number, offset] : llvm::enumerate(step.getOffsets()))
    offsets.push_back(mask.getArgument(number).use_empty() ? zero : offset);
  bool readsQueries = !mask.getOps<QueryLengthOp>().empty(),
       readsKeys = !mask.getOps<KeyLengthOp>().empty();
  // Lengths of batch items would make rows for each of these: where the mask
  // does not ask for them, what no length exceeds is enough. A piece of a
  // problem does not begin with the first one, and its memory ends elsewhere.
  Value queries = getWhole(step.getQuery());
  Value query = step.getOffsets()[2];
  auto argument = dyn_cast<BlockArgument>(query);
  bool hasAllQueries = (argument && argument.getOwner() == loop.getBody()) ||
                       isConstantIntValue(query, 0);
  bool hasAllKeys = step.getOffsets()[3] == ranges.getKey();
  extents = {readsQueries || !hasAllQueries ? step.getExtents()[0]
             : queries ? getLength(queries, step.getQueryOrder())
                       : zero,
             readsKeys || !hasAllKeys ? step.getExtents()[1]
                                      : getLength(keys, step.getKeyOrder())};
  for (Value value : llvm::concat<Value>(offsets, extents))
    need(value);
  need(ranges.getBegins().front());
  need(ranges.getEnds().back());
  SmallVector<unsigned> sorted(dims.begin(), dims.end());
  llvm::sort(sorted);
  dims.clear();
  dims.insert(sorted.begin(), sorted.end());
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

/// Asks the mask about `keys` keys from `key` on. Of more than one block,
/// bounds answer.
SummarizeMaskOp BlockLister::summarize(OpBuilder &in, const IRMapping &mapping,
                                       Value key, int64_t keys) {
  IRMapping ofBlock(mapping);
  ofBlock.map(ranges.getKey(), key);
  for (Operation *op : needed)
    if (ranges->isAncestor(op))
      in.clone(*op, ofBlock);
  auto inBlock = [&](Value value) { return ofBlock.lookupOrDefault(value); };
  SmallVector<Value> place = llvm::map_to_vector(offsets, inBlock),
                     lengths = llvm::map_to_vector(extents, inBlock);
  auto summary = SummarizeMaskOp::create(
      in, loc, in.getI1Type(), in.getI1Type(),
      step.getConfigAttr().getQueryBlock(), keys, place, lengths,
      step.getMaskCaptures(),
      /*by_bounds=*/keys > static_cast<int64_t>(ranges.getStep()));
  IRMapping captured;
  step.getMask().cloneInto(&summary.getMask(), captured);
  return summary;
}

/// Lists the blocks of the keys from `begin` to `end`; `listed` is how many
/// full and partial ones are listed before.
ValueRange BlockLister::listGroup(OpBuilder &at, const IRMapping &mapping,
                                  BlockTable::Row row, Value begin, Value end,
                                  ValueRange listed) {
  Value firstKey = mapping.lookupOrDefault(ranges.getBegins().front());
  auto visitBlock = [&](OpBuilder &in, Location, Value key, Value count,
                        ValueRange listed) {
    Value one = index(in, 1), zero = index(in, 0);
    SummarizeMaskOp summary = summarize(in, mapping, key, ranges.getStep());
    Value isWhole = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sge,
                                          count, index(in, ranges.getStep()));
    Value isFull = arith::AndIOp::create(in, loc, summary.getEvery(), isWhole);
    Value isPartial = arith::AndIOp::create(
        in, loc, summary.getSome(),
        arith::XOrIOp::create(
            in, loc, isFull,
            arith::ConstantIntOp::create(in, loc, 1, /*width=*/1)));
    Value number = make<arith::SubIOp>(in, key, firstKey);
    number = make<arith::DivUIOp>(in, number, index(in, ranges.getStep()));
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
  return KeyRangesOp::create(at, loc, begin, end, {false}, ranges.getStep(),
                             listed, visitBlock)
      .getResults();
}

void BlockLister::fillRow(OpBuilder &at, const IRMapping &mapping,
                          BlockTable::Row row) {
  Value zero = index(at, 0);
  // A list of no block names the first one, which is then visited in vain.
  table->store(at, zero, row.last);
  Value begin = mapping.lookupOrDefault(ranges.getBegins().front()),
        end = mapping.lookupOrDefault(ranges.getEnds().back());
  int64_t groupKeys = groupBlocks * ranges.getStep();
  auto visitGroup = [&](OpBuilder &in, Location, Value key, Value,
                        ValueRange listed) {
    SummarizeMaskOp summary = summarize(in, mapping, key, groupKeys);
    Value groupEnd = make<arith::AddIOp>(in, key, index(in, groupKeys));
    groupEnd = arith::MinSIOp::create(in, loc, groupEnd, end);
    auto branch = scf::IfOp::create(in, loc, TypeRange(listed),
                                    summary.getSome(), /*withElseRegion=*/true);
    OpBuilder visible = branch.getThenBodyBuilder();
    scf::YieldOp::create(
        visible, loc, listGroup(visible, mapping, row, key, groupEnd, listed));
    OpBuilder hidden = branch.getElseBodyBuilder();
    scf::YieldOp::create(hidden, loc, listed);
    YieldOp::create(in, loc, branch.getResults());
  };
  auto visits = KeyRangesOp::create(at, loc, begin, end, {false}, groupKeys,
                                    {zero, zero}, visitGroup);
  table->store(at, visits.getResult(0), row.numFull);
  table->store(at, visits.getResult(1), row.numPartial);
}

//===----------------------------------------------------------------------===//
// The loop that reads it
//===----------------------------------------------------------------------===//

/// Ranges over the list, full blocks first, in place of those over the keys.
void BlockLister::visitListed() {
  builder.setInsertionPoint(ranges);
  SmallVector<Value> indices;
  for (unsigned dim : dims)
    indices.push_back(loop.getInductionVar(dim));
  BlockTable::Row row = table->getRow(builder, indices);
  Value zero = index(builder, 0), size = index(builder, ranges.getStep());
  Value numFull = table->load(builder, row.numFull);
  Value numPartial = table->load(builder, row.numPartial);
  Value fullEnd = multiplyShort(builder, loc, numFull, size);
  Value all = make<arith::AddIOp>(builder, numFull, numPartial);
  Value end = multiplyShort(builder, loc, all, size);
  // The place of a full block counts from the front, of a partial one from the
  // end.
  Value ofPartial = make<arith::AddIOp>(builder, row.last, numFull);
  Value begin = ranges.getBegins().front(), keysEnd = ranges.getEnds().back();
  auto listed = KeyRangesOp::create(
      builder, loc, {zero, fullEnd}, {fullEnd, end}, {true, false},
      ranges.getStep(), ranges.getInits(), nullptr);
  listed.getBodyRegion().takeBody(ranges.getBodyRegion());
  ranges.replaceAllUsesWith(listed.getResults());

  OpBuilder in = OpBuilder::atBlockBegin(&listed.getBodyRegion().front());
  // Copies ahead of the last block ask for one before the first.
  auto inList = arith::MaxSIOp::create(in, loc, listed.getKey(), zero);
  Value position = make<arith::DivUIOp>(in, inList, size);
  Value isPartial = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sge,
                                          position, numFull);
  Value place = arith::SelectOp::create(
      in, loc, isPartial, make<arith::SubIOp>(in, ofPartial, position),
      make<arith::AddIOp>(in, row.first, position));
  Value number = table->load(in, place);
  Value key = multiplyShort(in, loc, number, size);
  key = make<arith::AddIOp>(in, begin, key);
  Value count = make<arith::SubIOp>(in, keysEnd, key);
  count = arith::MinSIOp::create(in, loc, count, size);
  listed.getKey().replaceAllUsesExcept(key, inList);
  listed.getCount().replaceAllUsesWith(count);
  ranges.erase();
}

void BlockLister::run() {
  findNeeds();
  table.emplace(loop, dims.getArrayRef(), getLength(keys, step.getKeyOrder()),
                ranges.getStep());
  fillTable();
  visitListed();
}

/// The step of ranges whose mask is to be looked up; null for others.
static OnlineAttentionOp findStep(KeyRangesOp ranges) {
  auto steps = ranges.getBodyRegion().getOps<OnlineAttentionOp>();
  if (!llvm::hasSingleElement(steps) || ranges.getNumRanges() == 0)
    return {};
  OnlineAttentionOp step = *steps.begin();
  if (!getGPUPart(step.getConfigAttr()).blockTable || step.getMask().empty() ||
      step.getOffsets().empty() || step.getExtents().empty())
    return {};
  return KeyRangeAnalysis(step.getMask()).getObstacles().empty()
             ? OnlineAttentionOp()
             : step;
}

namespace {
struct ListBlocksPass : public fa::impl::FAListBlocksPassBase<ListBlocksPass> {
  void runOnOperation() override {
    SmallVector<KeyRangesOp> all;
    getOperation().walk([&](KeyRangesOp op) { all.push_back(op); });
    for (KeyRangesOp ranges : all) {
      OnlineAttentionOp step = findStep(ranges);
      if (!step)
        continue;
      BlockLister lister(ranges, step);
      std::string obstacle = lister.getObstacle();
      auto options =
          remark::RemarkOpts::name("BlockTable").category("fa-list-blocks");
      if (!obstacle.empty()) {
        remark::missed(step.getLoc(), options)
            << "no table of visited blocks: " + obstacle;
        continue;
      }
      remark::passed(step.getLoc(), options)
          << "a table lists the key blocks that the mask leaves";
      lister.run();
    }
  }
};
} // namespace
