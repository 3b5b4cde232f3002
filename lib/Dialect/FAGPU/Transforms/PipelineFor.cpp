//===- PipelineFor.cpp - Overlap iterations of a counted loop -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Software pipelining of fagpu.for with two stages: a step runs stage 0 of
// one iteration and stage 1 of the one before. Read `CarriedState` (what
// crosses steps), then `run`: prologue, one loop a segment, epilogue.
//
//===----------------------------------------------------------------------===//

#include "IterationCloner.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// The values that the loops of the pipeline carry, in this order: those that
/// stage 1 needs from stage 0 of its own iteration, the iteration arguments
/// whose next value stage 0 knows, those that only stage 1 reads and makes.
struct CarriedState {
  SetVector<Value> crossing;
  SmallVector<unsigned> early;
  SmallVector<unsigned> late;
};

class ForPipeliner {
public:
  explicit ForPipeliner(ForOp loop)
      : loop(loop), body(&loop.getBody().front()), cloner(body), builder(loop),
        location(loop.getLoc()), outer(getSlot(loop)),
        scheduled(isScheduled(body)), ops(getScheduledOps(body)),
        yielded(cast<YieldOp>(body->getTerminator()).getValues()) {}

  LogicalResult run() {
    collectCarried();
    next = loop.getStart();
    if (loop.getOnce())
      emitPrologue();
    else
      llvm::append_range(state, loop.getInits());
    for (unsigned segment = loop.getOnce(); segment < loop.getNumSegments();
         ++segment) {
      if (cloner.hasFailed())
        return failure();
      emitSegment(segment);
    }
    if (cloner.hasFailed())
      return failure();
    emitEpilogue();
    return failure(cloner.hasFailed());
  }

private:
  bool hasStage(int64_t stage) {
    return llvm::any_of(ops,
                        [&](ScheduledOp op) { return op.slot.stage == stage; });
  }

  /// Whether only stage 1 knows the yielded value of an iteration argument.
  bool isMadeLate(unsigned index) {
    Operation *definition = yielded[index].getDefiningOp();
    if (!definition || definition->getBlock() != body || hasNoPlace(definition))
      return false;
    std::optional<Slot> slot = getSlot(definition);
    return slot && slot->stage == 1;
  }

  void collectCarried() {
    SetVector<Value> needed;
    for (ScheduledOp op : ops)
      if (op.slot.stage == 1)
        cloner.collectNeeded(op.op, needed);
    for (Value value : needed) {
      if (value == loop.getIndex())
        continue;
      if (Operation *definition = value.getDefiningOp()) {
        if (getSlot(definition)->stage == 0)
          carried.crossing.insert(value);
        continue;
      }
      auto arguments = loop.getIterArguments();
      unsigned index = cast<BlockArgument>(value).getArgNumber() -
                       arguments[0].getArgNumber();
      if (isMadeLate(index))
        carried.late.push_back(index);
      else
        carried.crossing.insert(value);
    }
    for (unsigned index = 0; index < yielded.size(); ++index)
      if (!isMadeLate(index))
        carried.early.push_back(index);
  }

  //===--- Scalars of the loop
  //---------------------------------------------===//

  Value constant(OpBuilder &at, int64_t value) {
    return arith::ConstantOp::create(at, location, at.getI32IntegerAttr(value));
  }
  Value add(OpBuilder &at, Value a, Value b) {
    return at.createOrFold<arith::AddIOp>(location, a, b);
  }
  Value subtract(OpBuilder &at, Value a, Value b) {
    return at.createOrFold<arith::SubIOp>(location, a, b);
  }

  /// The index `iterations` after `index`.
  Value advance(OpBuilder &at, Value index, int64_t iterations) {
    if (!iterations)
      return index;
    return add(at, index, constant(at, iterations * loop.getDirection()));
  }

  /// Whether the loop has an iteration of this index.
  Value exists(OpBuilder &at, Value index) {
    auto predicate = loop.getDirection() < 0 ? arith::CmpIPredicate::sge
                                             : arith::CmpIPredicate::slt;
    return arith::CmpIOp::create(at, location, predicate, index,
                                 loop.getBounds().back());
  }

  void mapFlags(IRMapping &iteration, OpBuilder &at, unsigned segment) {
    for (auto [number, flag] : llvm::enumerate(loop.getFlags()))
      iteration.map(flag, arith::ConstantOp::create(
                              at, location, at.getBoolAttr(number == segment)));
  }

  //===--- Copies
  //----------------------------------------------------------===//

  /// The slot of a copy in the loop around this one: copies of the prologue
  /// belong to the stage before the loop's own.
  std::optional<Slot> outerSlot(ScheduledOp op, bool isPrologue) {
    if (!outer || !scheduled)
      return outer;
    return Slot{outer->stage - (isPrologue && hasStage(1)), op.slot.order};
  }

  /// Puts the box of the iteration of `index`, if there is such an iteration.
  void putAhead(OpBuilder &at, ScheduledOp put, Value index, bool guard,
                std::optional<Slot> slot) {
    IRMapping iteration;
    iteration.map(loop.getIndex(), index);
    Value condition = guard ? exists(at, index) : Value();
    cloner.clone(put.op, iteration, at, slot);
    auto copy = cast<PutOp>(&*std::prev(at.getInsertionPoint()));
    if (!guard)
      return;
    if (Value own = copy.getCondition()) {
      OpBuilder before(copy);
      condition = before.createOrFold<arith::AndIOp>(location, own, condition);
    }
    copy.getConditionMutable().assign(condition);
  }

  /// One step: stage 0 of `newer`, stage 1 of `older` if there is one, and what
  /// runs ahead.
  void emitStep(OpBuilder &at, IRMapping &newer, IRMapping *older, Value index,
                bool isPrologue, bool inOuterBody) {
    SmallVector<StepItem> items;
    for (ScheduledOp op : ops) {
      if (op.slot.stage == 1 && !older)
        continue;
      items.push_back({op, op.slot.stage == 1   ? older
                           : op.slot.stage == 0 ? &newer
                                                : nullptr});
    }
    sortStep(items);
    for (auto [op, iteration, position] : items) {
      std::optional<Slot> slot =
          inOuterBody ? outerSlot(op, isPrologue) : std::nullopt;
      if (!iteration) {
        putAhead(at, op, advance(at, index, -op.slot.stage), /*guard=*/true,
                 slot);
        continue;
      }
      cloner.clone(op.op, *iteration, at, slot);
      if (op.slot.stage != 1)
        continue;
      // The newer iteration sees a value of the older one once it is made.
      for (auto [argument, value] :
           llvm::zip_equal(loop.getIterArguments(), yielded))
        if (value.getDefiningOp() == op.op)
          newer.map(argument, older->lookup(value));
    }
  }

  void emitPrologue() {
    int64_t ahead = 0;
    for (ScheduledOp op : ops)
      ahead = std::max(ahead, -op.slot.stage);
    for (int64_t distance = 0; distance < ahead; ++distance)
      for (ScheduledOp op : ops)
        if (distance < -op.slot.stage)
          putAhead(builder, op, advance(builder, next, distance), distance > 0,
                   outerSlot(op, /*isPrologue=*/true));
    IRMapping first;
    first.map(loop.getIndex(), next);
    mapFlags(first, builder, 0);
    first.map(loop.getIterArguments(), loop.getInits());
    emitStep(builder, first, /*older=*/nullptr, next, /*isPrologue=*/true,
             /*inOuterBody=*/true);
    for (Value value : carried.crossing)
      state.push_back(first.lookupOrDefault(value));
    for (unsigned index : carried.early)
      state.push_back(cloner.resolve(yielded[index], first, builder, loop));
    for (unsigned index : carried.late)
      state.push_back(loop.getInits()[index]);
    next = advance(builder, next, 1);
  }

  /// How many iterations a segment has from `next` on.
  Value countTrips(Value bound) {
    Value trips;
    if (loop.getDirection() < 0)
      trips =
          add(builder, subtract(builder, next, bound), constant(builder, 1));
    else
      trips = subtract(builder, bound, next);
    return builder.createOrFold<arith::MaxSIOp>(location, trips,
                                                constant(builder, 0));
  }

  void emitSegment(unsigned segment) {
    Value trips = countTrips(loop.getBounds()[segment - loop.getOnce()]);
    Value zero = constant(builder, 0), one = constant(builder, 1);
    auto steps = scf::ForOp::create(builder, location, zero, trips, one, state);
    if (outer)
      setSlot(steps, *outer);
    OpBuilder inside = OpBuilder::atBlockBegin(steps.getBody());
    Value trip = steps.getInductionVar();
    Value index = loop.getDirection() < 0 ? subtract(inside, next, trip)
                                          : add(inside, next, trip);
    IRMapping newer, older;
    newer.map(loop.getIndex(), index);
    older.map(loop.getIndex(), advance(inside, index, -1));
    mapFlags(newer, inside, segment);
    mapCarried(steps.getRegionIterArgs(), newer, older);
    emitStep(inside, newer, hasStage(1) ? &older : nullptr, index,
             /*isPrologue=*/false, /*inOuterBody=*/false);
    if (cloner.hasFailed())
      return;
    SmallVector<Value> results;
    for (Value value : carried.crossing)
      results.push_back(newer.lookup(value));
    for (unsigned argument : carried.early)
      results.push_back(cloner.resolve(yielded[argument], newer, inside, loop));
    for (unsigned argument : carried.late)
      results.push_back(older.lookup(yielded[argument]));
    if (!results.empty())
      scf::YieldOp::create(inside, location, results);
    state = llvm::to_vector_of<Value>(steps.getResults());
    next = loop.getDirection() < 0 ? subtract(builder, next, trips)
                                   : add(builder, next, trips);
  }

  /// Binds carried values: `older` is the iteration whose stage 1 comes next.
  void mapCarried(ValueRange values, IRMapping &newer, IRMapping &older) {
    auto value = values.begin();
    for (Value crossing : carried.crossing)
      older.map(crossing, *value++);
    for (unsigned index : carried.early)
      newer.map(loop.getIterArguments()[index], *value++);
    for (unsigned index : carried.late)
      older.map(loop.getIterArguments()[index], *value++);
  }

  /// Stage 1 of the last iteration, and the results of the loop.
  void emitEpilogue() {
    IRMapping newer, last;
    mapCarried(state, newer, last);
    last.map(loop.getIndex(), advance(builder, next, -1));
    SmallVector<StepItem> items;
    for (ScheduledOp op : ops)
      if (op.slot.stage == 1)
        items.push_back({op, &last});
    sortStep(items);
    for (auto [op, iteration, position] : items)
      cloner.clone(op.op, *iteration, builder,
                   outerSlot(op, /*isPrologue=*/false));
    if (cloner.hasFailed())
      return;
    SmallVector<Value> results(yielded.size());
    for (unsigned index : carried.early)
      results[index] = newer.lookup(loop.getIterArguments()[index]);
    for (unsigned index = 0; index < yielded.size(); ++index)
      if (!results[index])
        results[index] = last.lookup(yielded[index]);
    loop.replaceAllUsesWith(results);
    loop.erase();
  }

  ForOp loop;
  Block *body;
  IterationCloner cloner;
  OpBuilder builder;
  Location location;
  std::optional<Slot> outer;
  bool scheduled;
  SmallVector<ScheduledOp> ops;
  ValueRange yielded;
  CarriedState carried;
  /// Values of `carried` after what has been emitted so far.
  SmallVector<Value> state;
  /// The index of the next iteration.
  Value next;
};

} // namespace

LogicalResult mlir::fagpu::pipelineLoop(ForOp loop) {
  return loop.getRolled() ? rollLoop(loop) : ForPipeliner(loop).run();
}
