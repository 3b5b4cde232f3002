//===- PipelineRepeat.cpp - Overlap iterations of a repeated body ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Software pipelining of fagpu.repeat, the loop over tiles of a persistent
// kernel. Its condition is known in the middle of a step, so the result is an
// scf.while. The comment on `RepeatPipeliner` has the picture; read it, then
// `run`.
//
//===----------------------------------------------------------------------===//

#include "IterationCloner.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

/// A scalar of so few operations is made where it is needed.
static constexpr unsigned cheapScalar = 3;
/// So few operations in all are not worth registers for what they make.
static constexpr unsigned cheapScalars = 20;

namespace {

/// The loop condition stands in the middle of a step. What stage 1 does before
/// the first operation of stage 0 (the middle) comes before it, so it and the
/// condition are the before-region of an scf.while; the rest of stage 1 and
/// stage 0 of the next iteration are the after-region. A copy of stage 0 comes
/// before the loop, and one of the rest of stage 1 after it.
class RepeatPipeliner {
public:
  explicit RepeatPipeliner(RepeatOp loop)
      : loop(loop), body(&loop.getBody().front()), cloner(body), builder(loop),
        location(loop.getLoc()) {
    ValueRange values = body->getTerminator()->getOperands();
    again = values.front();
    yielded = values.drop_front();
    divideOps();
  }

  LogicalResult run() {
    collectCarried();
    emitPrologue();
    if (cloner.hasFailed())
      return failure();
    auto types = [](ArrayRef<Value> values) {
      return llvm::to_vector_of<Type>(ValueRange(values).getTypes());
    };
    SmallVector<Type> stateTypes = types(state), forwarded = stateTypes;
    llvm::append_range(forwarded, types(middle.getArrayRef()));
    llvm::append_range(forwarded, yielded.getTypes());
    auto steps = scf::WhileOp::create(builder, location, forwarded, state);
    auto addBlock = [&](Region &region, ArrayRef<Type> arguments) {
      OpBuilder::InsertionGuard guard(builder);
      SmallVector<Location> locations(arguments.size(), location);
      return builder.createBlock(&region, {}, arguments, locations);
    };
    emitBefore(addBlock(steps.getBefore(), stateTypes));
    emitAfter(addBlock(steps.getAfter(), forwarded));
    if (cloner.hasFailed())
      return failure();
    builder.setInsertionPointAfter(steps);
    emitEpilogue(steps.getResults());
    loop.erase();
    return failure(cloner.hasFailed());
  }

private:
  void divideOps() {
    bool scheduled = isScheduled(body);
    int64_t firstNewer = std::numeric_limits<int64_t>::max();
    SmallVector<ScheduledOp> ops = getScheduledOps(body);
    for (ScheduledOp op : ops)
      if (scheduled && op.slot.stage == 0)
        firstNewer = std::min(firstNewer, op.slot.order);
    for (ScheduledOp op : ops) {
      if (!scheduled)
        beforeCondition.push_back({op.op, Slot{1, 0}});
      else if (op.slot.stage == 0)
        stage0.push_back(op);
      else if (op.slot.order < firstNewer)
        beforeCondition.push_back(op);
      else
        afterCondition.push_back(op);
    }
  }

  static bool isMadeBy(Value value, ArrayRef<ScheduledOp> ops) {
    return llvm::any_of(ops, [&](const ScheduledOp &op) {
      return op.op == value.getDefiningOp();
    });
  }

  /// Finds what stage 1 needs from stage 0, and what its part after the
  /// condition needs from its part before.
  void collectCarried() {
    SetVector<Value> needed;
    for (ScheduledOp op : beforeCondition)
      cloner.collectNeeded(op.op, needed);
    for (ScheduledOp op : afterCondition)
      cloner.collectNeeded(op.op, needed);
    for (Value value : body->getTerminator()->getOperands())
      cloner.collectNeeded(value, needed);
    for (Value value : needed)
      if (isMadeBy(value, stage0))
        crossing.insert(value);
    SetVector<Value> neededAfter;
    for (ScheduledOp op : afterCondition)
      cloner.collectNeeded(op.op, neededAfter);
    for (Value value : neededAfter)
      if (isMadeBy(value, beforeCondition))
        middle.insert(value);
    collectScalars();
  }

  /// What the iteration's state and stage 0 alone give.
  bool isOfStage0(Value value) {
    SetVector<Value> needed;
    cloner.collectNeeded(value, needed);
    return !needed.empty() && llvm::all_of(needed, [&](Value source) {
      return isa<BlockArgument>(source) || isMadeBy(source, stage0);
    });
  }

  /// Finds integers that stage 1 would compute at length, as the bounds of its
  /// loops. A step that waits in stage 0 has time for them.
  void collectScalars() {
    if (llvm::none_of(stage0,
                      [](ScheduledOp op) { return isa<WaitOp>(op.op); }))
      return;
    for (ArrayRef<ScheduledOp> ops : {beforeCondition, afterCondition})
      for (ScheduledOp op : ops)
        for (Value value : usedValues(op.op))
          if (value.getType().isIntOrIndex() && !value.getType().isInteger(1) &&
              cloner.countFloating(value) > cheapScalar && isOfStage0(value))
            scalars.insert(value);
    if (cloner.countFloating(scalars.getArrayRef()) <= cheapScalars)
      scalars.clear();
    crossing.insert_range(scalars);
  }

  /// Makes what has its operands.
  void makeScalars(IRMapping &iteration, OpBuilder &at) {
    for (Value value : scalars) {
      SetVector<Value> needed;
      cloner.collectNeeded(value, needed);
      if (llvm::all_of(
              needed, [&](Value source) { return iteration.contains(source); }))
        cloner.resolve(value, iteration, at, loop);
    }
  }

  /// Copies operations of one or two iterations. Scalars of the newer one that
  /// cross are made before its first wait, and the rest of them at the end.
  void emit(OpBuilder &at,
            ArrayRef<std::pair<ArrayRef<ScheduledOp>, IRMapping *>> parts,
            IRMapping *newer = nullptr) {
    SmallVector<StepItem> items;
    for (auto [ops, iteration] : parts)
      for (ScheduledOp op : ops)
        items.push_back({op, iteration});
    sortStep(items);
    for (auto [op, iteration, position] : items) {
      if (iteration == newer && isa<WaitOp>(op.op))
        makeScalars(*newer, at);
      cloner.clone(op.op, *iteration, at, std::nullopt);
    }
    if (newer)
      makeScalars(*newer, at);
  }

  void emitPrologue() {
    IRMapping first;
    first.map(body->getArguments(), loop.getInits());
    emit(builder, {{stage0, &first}}, &first);
    llvm::append_range(state, loop.getInits());
    for (Value value : crossing)
      state.push_back(first.lookup(value));
  }

  /// Binds the state of an iteration and, behind the condition, what was made
  /// before it. The values that follow are those of the next iteration.
  ValueRange bind(IRMapping &iteration, ValueRange values, bool hasMiddle) {
    auto take = [&](auto &&keys) {
      for (Value key : keys) {
        iteration.map(key, values.front());
        values = values.drop_front();
      }
    };
    take(body->getArguments());
    take(crossing);
    if (hasMiddle)
      take(middle);
    return values;
  }

  void emitBefore(Block *block) {
    OpBuilder at = OpBuilder::atBlockEnd(block);
    IRMapping current;
    bind(current, block->getArguments(), /*hasMiddle=*/false);
    emit(at, {{beforeCondition, &current}});
    Value condition = cloner.resolve(again, current, at, loop);
    SmallVector<Value> values =
        llvm::to_vector_of<Value>(block->getArguments());
    for (Value value : middle)
      values.push_back(current.lookupOrDefault(value));
    for (Value value : yielded)
      values.push_back(cloner.resolve(value, current, at, loop));
    scf::ConditionOp::create(at, location, condition, values);
  }

  void emitAfter(Block *block) {
    OpBuilder at = OpBuilder::atBlockEnd(block);
    IRMapping current, newer;
    ValueRange following =
        bind(current, block->getArguments(), /*hasMiddle=*/true);
    newer.map(body->getArguments(), following);
    emit(at, {{afterCondition, &current}, {stage0, &newer}}, &newer);
    SmallVector<Value> values = llvm::to_vector_of<Value>(following);
    for (Value value : crossing)
      values.push_back(newer.lookupOrDefault(value));
    scf::YieldOp::create(at, location, values);
  }

  void emitEpilogue(ValueRange results) {
    IRMapping last;
    bind(last, results, /*hasMiddle=*/true);
    emit(builder, {{afterCondition, &last}});
  }

  RepeatOp loop;
  Block *body;
  IterationCloner cloner;
  OpBuilder builder;
  Location location;
  Value again;
  ValueRange yielded;
  SmallVector<ScheduledOp> stage0, beforeCondition, afterCondition;
  /// What stage 1 needs from stage 0 of its iteration.
  SetVector<Value> crossing;
  /// Those of them that stage 0 does not make itself.
  SetVector<Value> scalars;
  /// What stage 1 makes before the condition and needs after it.
  SetVector<Value> middle;
  SmallVector<Value> state;
};

} // namespace

LogicalResult mlir::fagpu::pipelineLoop(RepeatOp loop) {
  return RepeatPipeliner(loop).run();
}
