//===- FormSegments.cpp - Key ranges to loops with segments ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns ranges, the full and partial blocks of keys or queries that a mask
// leaves, into one fagpu.for with a segment per range. Blocks are numbered
// through all ranges, and the loop runs from the last to the first, or the
// other way. A loop over the query heads of a key head joins it. Read `run`,
// then `countBlocks` and `fillBody`.
//
//===----------------------------------------------------------------------===//

#include "IndexWidths.h"
#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAFORMSEGMENTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Builds the loop of one operation with ranges. Blocks of all ranges are
/// numbered through, from the first block of the first range.
class SegmentBuilder {
public:
  SegmentBuilder(BlockRangesOpInterface ranges, bool isRolled, bool rises)
      : ranges(ranges), heads(dyn_cast<scf::ForOp>(ranges->getParentOp())),
        builder(heads ? heads.getOperation() : ranges.getOperation()),
        loc(ranges.getLoc()), isRolled(isRolled), rises(rises) {}
  void run();

private:
  bool areContiguous();
  bool isAtMostOneBlock(unsigned range);
  bool asksForParts();
  Value flagOf(fagpu::ForOp loop, unsigned range);
  void countBlocks();
  unsigned getNumRanges() { return ranges.getBegins().size(); }
  bool endTogether();
  bool goesByWaves();
  Value isOddWave();
  void takeHead(Value number, Block &body);
  Value isPartial(fagpu::ForOp loop);
  void fillBody(fagpu::ForOp loop);
  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number);
  }
  Value cast(Value value, Type type) {
    return builder.createOrFold<arith::IndexCastOp>(loc, type, value);
  }
  Value choose(ArrayRef<Value> conditions, ArrayRef<Value> values);

  BlockRangesOpInterface ranges;
  /// Query heads that visit the same ranges; null where there is one.
  scf::ForOp heads;
  OpBuilder builder;
  Location loc;
  bool isRolled;
  /// Whether the loop runs from the first block to the last.
  bool rises;
  /// The number of the first block of each range, then of all blocks.
  SmallVector<Value> starts;
  /// Which ranges have a segment of their own.
  SmallVector<bool> hasSegment;
  /// How many heads there are, how many blocks each visits, and the number of
  /// one among them.
  Value numHeads, blocks, number;
  /// Whether a tile is of an odd wave; null where all tiles go one way.
  Value odd;
};

} // namespace

/// Whether the ranges lie on one grid of blocks, each next to the one before:
/// then a block's first key follows from its number alone. Ranges are whole
/// blocks if they are full. Queries are visited in the blocks that their
/// numbers have in memory, too; ptxas makes more of that where a block has one
/// tile (it spills in two_pass, causal, head dim 128).
bool SegmentBuilder::areContiguous() {
  auto kernel = ranges->getParentOfType<func::FuncOp>();
  bool isOnGrid = isa<QueryRangesOp>(*ranges) &&
                  (!isPersistent(kernel) || isOnePass(kernel));
  for (unsigned i = 1; i < getNumRanges(); ++i)
    if ((!isOnGrid && !ranges.getFull()[i - 1]) ||
        ranges.getBegins()[i] != ranges.getEnds()[i - 1])
      return false;
  return true;
}

/// Whether the range ends with the rest of its end by a block.
bool SegmentBuilder::isAtMostOneBlock(unsigned range) {
  Value begin = ranges.getBegins()[range], end = ranges.getEnds()[range];
  int64_t step = ranges.getStep();
  std::optional<int64_t> first = getConstantIntValue(begin),
                         last = getConstantIntValue(end);
  if (first && last)
    return *last - *first <= step;
  auto difference = begin.getDefiningOp<arith::SubIOp>();
  if (!difference || difference.getLhs() != end)
    return false;
  auto rest = difference.getRhs().getDefiningOp<arith::RemUIOp>();
  return rest && rest.getLhs() == end &&
         getConstantIntValue(rest.getRhs()) == step;
}

bool SegmentBuilder::asksForParts() {
  return ranges->walk([](IsPartialOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The flag of a range; null where only the first block can be of it.
Value SegmentBuilder::flagOf(fagpu::ForOp loop, unsigned range) {
  unsigned number = 1;
  for (unsigned other : llvm::seq(getNumRanges()))
    if (rises ? other < range : other > range)
      number += hasSegment[other];
  return hasSegment[range] ? loop.getFlags()[number] : Value();
}

void SegmentBuilder::countBlocks() {
  unsigned count = getNumRanges();
  hasSegment.assign(count, true);
  // The block at the end is visited once in any case.
  if (!rises && count > 1 && isAtMostOneBlock(count - 1))
    hasSegment.back() = false;
  // Blocks that are all computed alike have one segment, to the last of them.
  if (!asksForParts()) {
    hasSegment.assign(count, false);
    (rises ? hasSegment.back() : hasSegment.front()) = true;
  }
  Value step = constant(ranges.getStep()), zero = constant(0);
  starts.push_back(zero);
  for (auto [begin, end] :
       llvm::zip_equal(ranges.getBegins(), ranges.getEnds())) {
    Value length = builder.createOrFold<arith::SubIOp>(loc, end, begin);
    Value blocks = builder.createOrFold<arith::CeilDivSIOp>(loc, length, step);
    blocks = builder.createOrFold<arith::MaxSIOp>(loc, blocks, zero);
    starts.push_back(
        builder.createOrFold<arith::AddIOp>(loc, starts.back(), blocks));
  }
  blocks =
      builder.createOrFold<arith::MaxSIOp>(loc, starts.back(), constant(1));
}

/// Whether the ranges end with the same block in all tiles: at the last query,
/// or at 0 where there are no keys.
bool SegmentBuilder::endTogether() {
  Value end = ranges.getEnds().back();
  if (auto some = end.getDefiningOp<arith::SelectOp>();
      some && isConstantIntValue(some.getFalseValue(), 0))
    end = some.getTrueValue();
  SetVector<Operation *> source;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  return succeeded(getBackwardSlice(end, &source, options)) &&
         llvm::none_of(source, llvm::IsaPred<gpu::BlockIdOp>);
}

/// Where tiles end with the same block, the longest come first and blocks of
/// threads take one after the other, they go through the heads of a block
/// before its next one: all at work are at the same block, and find it in the
/// L2 cache.
bool SegmentBuilder::goesByWaves() {
  auto kernel = ranges->getParentOfType<func::FuncOp>();
  return heads && isa<QueryRangesOp>(*ranges) && isOnePass(kernel) &&
         isPersistent(kernel) &&
         getGPUPart(kernel).tileOrder == TileOrder::longest_first &&
         !kernel.getOps<gpu::BlockIdOp>().empty() && endTogether();
}

/// A wave is of as many tiles as there are blocks of threads. Tiles of the
/// first one start together, at the last block. One of the next starts as the
/// shortest of these ends, and is as much shorter than the one before it as it
/// starts later: they end together, and so go the other way.
Value SegmentBuilder::isOddWave() {
  OpBuilder::InsertionGuard guard(builder);
  auto kernel = ranges->getParentOfType<func::FuncOp>();
  gpu::BlockIdOp tile = *kernel.getOps<gpu::BlockIdOp>().begin();
  builder.setInsertionPointAfter(tile);
  Type i32 = builder.getI32Type();
  Value together = gpu::GridDimOp::create(builder, loc, gpu::Dimension::x);
  Value wave = arith::DivUIOp::create(builder, loc, cast(tile, i32),
                                      cast(together, i32));
  Value one = arith::ConstantIntOp::create(builder, loc, 1, /*width=*/32);
  Value parity = arith::AndIOp::create(builder, loc, wave, one);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, parity,
                               one);
}

/// The loop goes through the blocks of all heads: which head, and which of its
/// blocks.
void SegmentBuilder::takeHead(Value place, Block &body) {
  Value divisor = odd ? numHeads : blocks;
  Value quotient = builder.createOrFold<arith::DivUIOp>(loc, place, divisor);
  Value before = multiplyShort(builder, loc, quotient, divisor);
  Value rest = builder.createOrFold<arith::SubIOp>(loc, place, before);
  Value head = odd ? rest : quotient;
  number = odd ? quotient : rest;
  if (odd) {
    Value last = builder.createOrFold<arith::SubIOp>(loc, blocks, constant(1));
    Value risen = builder.createOrFold<arith::SubIOp>(loc, last, number);
    number = arith::SelectOp::create(builder, loc, odd, risen, number);
  }
  Value of = multiplyShort(builder, loc, head, heads.getStep());
  of = builder.createOrFold<arith::AddIOp>(loc, heads.getLowerBound(), of);
  heads.getInductionVar().replaceAllUsesWith(of);
  for (Operation &op :
       llvm::make_early_inc_range(heads.getBody()->without_terminator()))
    if (&op != ranges)
      op.moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
}

/// Whether the mask may hide a pair of the block. Segments say so, but where
/// they go through several heads.
Value SegmentBuilder::isPartial(fagpu::ForOp loop) {
  auto either = [&](Value a, Value b) -> Value {
    return arith::OrIOp::create(builder, loc, a, b);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, number, bound);
  };
  // The first one may be of any range, or of none.
  Value partial = loop.getFlags().front();
  if (heads) {
    Value last = builder.createOrFold<arith::SubIOp>(loc, blocks, constant(1));
    partial = compare(arith::CmpIPredicate::eq, last);
  }
  for (unsigned range = 0; range < getNumRanges(); ++range) {
    if (ranges.getFull()[range])
      continue;
    if (!heads) {
      if (Value flag = flagOf(loop, range))
        partial = either(partial, flag);
      continue;
    }
    Value isIn = arith::AndIOp::create(
        builder, loc, compare(arith::CmpIPredicate::sge, starts[range]),
        compare(arith::CmpIPredicate::slt, starts[range + 1]));
    partial = either(partial, isIn);
  }
  return partial;
}

/// The last value whose condition holds.
Value SegmentBuilder::choose(ArrayRef<Value> conditions,
                             ArrayRef<Value> values) {
  Value chosen = values.front();
  for (auto [condition, value] :
       llvm::zip_equal(conditions.drop_front(), values.drop_front()))
    chosen =
        builder.createOrFold<arith::SelectOp>(loc, condition, value, chosen);
  return chosen;
}

void SegmentBuilder::fillBody(fagpu::ForOp loop) {
  Block &body = loop.getBody().front();
  builder.setInsertionPointToStart(&body);
  unsigned count = getNumRanges();
  number = cast(loop.getIndex(), builder.getIndexType());
  if (heads)
    takeHead(number, body);
  Value step = constant(ranges.getStep());

  Value key, end;
  if (areContiguous()) {
    key = multiplyShort(builder, loc, number, step);
    key = builder.createOrFold<arith::AddIOp>(loc, key,
                                              ranges.getBegins().front());
    end = ranges.getEnds().back();
  } else {
    SmallVector<Value> conditions, keys;
    // The last range that begins at this block or before; from the number of
    // the block alone, so that it is known ahead of the segment.
    for (unsigned range = 0; range < count; ++range) {
      conditions.push_back(arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sge, number, starts[range]));
      Value inRange =
          builder.createOrFold<arith::SubIOp>(loc, number, starts[range]);
      Value offset = multiplyShort(builder, loc, inRange, step);
      keys.push_back(builder.createOrFold<arith::AddIOp>(
          loc, offset, ranges.getBegins()[range]));
    }
    key = choose(conditions, keys);
    end = choose(conditions, SmallVector<Value>(ranges.getEnds()));
  }
  Value partial = isPartial(loop);

  Block &old = ranges.getBodyRegion().front();
  Value left = builder.createOrFold<arith::SubIOp>(loc, end, key);
  SmallVector<Value> arguments = {key, left};
  llvm::append_range(arguments, loop.getIterArguments());
  Operation *terminator = old.getTerminator();
  fagpu::YieldOp::create(builder, loc, terminator->getOperands());
  Operation *yield = &body.back();
  for (auto [from, to] : llvm::zip_equal(old.getArguments(), arguments))
    from.replaceAllUsesWith(to);
  terminator->erase();
  body.getOperations().splice(Block::iterator(yield), old.getOperations());
  auto replace = [&](auto op, Value flag) {
    op.replaceAllUsesWith(flag);
    op.erase();
  };
  loop.walk([&](IsPartialOp op) { replace(op, partial); });
  loop.walk([&](IsFirstOp op) { replace(op, loop.getFlags().front()); });
}

void SegmentBuilder::run() {
  countBlocks();
  Type i32 = builder.getI32Type();
  Value one = constant(1), all = blocks;
  if (heads) {
    Value extent = builder.createOrFold<arith::SubIOp>(
        loc, heads.getUpperBound(), heads.getLowerBound());
    numHeads =
        builder.createOrFold<arith::CeilDivUIOp>(loc, extent, heads.getStep());
    all = multiplyShort(builder, loc, numHeads, blocks);
    if (goesByWaves())
      odd = isOddWave();
  }
  Value last = builder.createOrFold<arith::SubIOp>(loc, all, one);
  Value zero = constant(0);
  SmallVector<Value> bounds;
  for (unsigned range : llvm::seq(heads ? 0 : getNumRanges())) {
    // The end of a segment that rises is behind it.
    unsigned next = rises ? range : getNumRanges() - 1 - range;
    if (hasSegment[next])
      bounds.push_back(cast(starts[next + rises], i32));
  }
  if (heads)
    bounds.push_back(cast(zero, i32));
  Operation *source = heads ? heads.getOperation() : ranges.getOperation();
  TypeRange types = source->getResultTypes();
  auto loop = fagpu::ForOp::create(
      builder, loc, types, cast(rises ? zero : last, i32), bounds,
      heads ? ValueRange(heads.getInitArgs()) : ValueRange(ranges.getInits()),
      builder.getI32IntegerAttr(rises ? 1 : -1), builder.getBoolAttr(true),
      isRolled ? builder.getUnitAttr() : nullptr);
  Block *body = builder.createBlock(&loop.getBody());
  body->addArgument(i32, loc);
  for (unsigned i = 0; i <= bounds.size(); ++i)
    body->addArgument(builder.getI1Type(), loc);
  for (Type type : types)
    body->addArgument(type, loc);
  fillBody(loop);
  source->replaceAllUsesWith(loop.getResults());
  source->erase();
}

namespace {
struct FormSegmentsPass
    : public fa::impl::FAFormSegmentsPassBase<FormSegmentsPass> {
  void runOnOperation() override {
    if (!fagpu::isKernel(getOperation()))
      return;
    SmallVector<BlockRangesOpInterface> all;
    getOperation().walk([&](BlockRangesOpInterface op) { all.push_back(op); });
    bool isRolled = getGPUPart(getOperation()).rolled;
    // Blocks of keys that add to the queries of one head begin with others;
    // through several heads they stay together, in the cache.
    bool isOfGroups =
        isOnePass(getOperation()) && hasWarpGroups(getOperation());
    for (BlockRangesOpInterface op : all)
      SegmentBuilder(op, isRolled,
                     isOfGroups && isa<QueryRangesOp>(*op) &&
                         !isa<scf::ForOp>(op->getParentOp()))
          .run();
  }
};
} // namespace
