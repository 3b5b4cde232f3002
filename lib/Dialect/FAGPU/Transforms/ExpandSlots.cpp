//===- ExpandSlots.cpp - Explicit and consistent slots --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the modulo schedule of a loop explicit: operations without stage and
// order inherit those of the one before. `SlotOrder` then checks that every
// use comes after its definition. Read `expandSlots`, which does both.
//
//===----------------------------------------------------------------------===//

#include "IterationCloner.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUEXPANDSLOTSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

static std::string toString(Slot slot) {
  return "[" + std::to_string(slot.stage) + ", " + std::to_string(slot.order) +
         "]";
}

/// Sets the inherited slots, and refuses stages that there are not.
static LogicalResult inheritSlots(Block *body) {
  std::optional<Slot> current;
  for (Operation &op : body->without_terminator()) {
    if (std::optional<Slot> own = getSlot(&op))
      current = own;
    if (hasNoPlace(&op)) {
      removeSlot(&op);
      continue;
    }
    if (!current)
      return op.emitOpError() << "has no '" << FAGPUDialect::slotAttrName
                              << "', and no operation above it in its block to "
                                 "take one from";
    if (current->stage > 1)
      return op.emitOpError()
             << "is in stage " << current->stage << ", expected at most 1";
    if (current->stage < 0 && !isa<PutOp>(op))
      return op.emitOpError() << "is in stage " << current->stage
                              << ", where only 'fagpu.put' can be";
    setSlot(&op, *current);
  }
  return success();
}

void mlir::fagpu::leaveOutInheritedSlots(Block *body) {
  std::optional<Slot> current;
  for (Operation &op : body->without_terminator()) {
    std::optional<Slot> own = getSlot(&op);
    if (!own)
      continue;
    bool isInherited =
        current && current->stage == own->stage && current->order == own->order;
    if (hasNoPlace(&op) || isInherited)
      removeSlot(&op);
    else
      current = own;
  }
}

namespace {
/// Checks that every use comes after what it uses in the order that the slots
/// give. The operations of one step are stage 0 of an iteration and stage 1 of
/// the one before it.
class SlotOrder {
public:
  explicit SlotOrder(Block *body)
      : body(body), cloner(body), loop(dyn_cast<ForOp>(body->getParentOp())) {
    yielded = body->getTerminator()->getOperands();
    if (isa<RepeatOp>(body->getParentOp()))
      yielded = yielded.drop_front();
  }

  LogicalResult verify() {
    for (ScheduledOp scheduled : getScheduledOps(body)) {
      SetVector<Value> needed;
      cloner.collectNeeded(scheduled.op, needed);
      for (Value value : needed)
        if (failed(verifyUse(scheduled, value)))
          return failure();
    }
    return success();
  }

private:
  LogicalResult emitTooEarly(ScheduledOp use, Operation *definition,
                             Slot made) {
    InFlightDiagnostic diagnostic =
        use.op->emitOpError()
        << "in slot " << toString(use.slot)
        << " uses a value that is made later, in slot " << toString(made);
    diagnostic.attachNote(definition->getLoc()) << "made here";
    return diagnostic;
  }

  /// A value of the same iteration.
  LogicalResult verifyResult(ScheduledOp use, Operation *definition) {
    Slot made = *getSlot(definition);
    if (isa<WaitOp, MmaAsyncOp>(use.op) && isa<MmaAsyncOp>(definition) &&
        made.stage != use.slot.stage)
      return use.op->emitOpError()
             << "is in stage " << use.slot.stage
             << ", but what it waits for is issued in stage " << made.stage
             << "; a result in flight cannot cross iterations";
    bool available =
        made.stage < use.slot.stage ||
        (made.stage == use.slot.stage && made.order <= use.slot.order &&
         definition->isBeforeInBlock(use.op));
    return available ? success() : emitTooEarly(use, definition, made);
  }

  /// What the iteration before has yielded.
  LogicalResult verifyCarried(ScheduledOp use, unsigned index) {
    SetVector<Value> needed;
    cloner.collectNeeded(yielded[index], needed);
    for (Value value : needed) {
      Operation *definition = value.getDefiningOp();
      if (!definition)
        continue;
      Slot made = *getSlot(definition);
      if (made.stage == 1 && use.slot.stage == 0 && made.order > use.slot.order)
        return emitTooEarly(use, definition, made);
    }
    return success();
  }

  LogicalResult verifyUse(ScheduledOp use, Value value) {
    if (Operation *definition = value.getDefiningOp())
      return verifyResult(use, definition);
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    unsigned numFixed = loop ? 1 + loop.getNumSegments() : 0;
    if (number >= numFixed)
      return verifyCarried(use, number - numFixed);
    if (number == 0 || use.slot.stage == 0)
      return success();
    return use.op->emitOpError()
           << "uses the flag of segment " << number - 1 << " in stage "
           << use.slot.stage << "; segments are told apart in stage 0 only";
  }

  Block *body;
  IterationCloner cloner;
  ForOp loop;
  ValueRange yielded;
};
} // namespace

static LogicalResult verifyOnce(Block *body) {
  auto loop = dyn_cast<ForOp>(body->getParentOp());
  if (!loop || loop.getOnce())
    return success();
  return loop.emitOpError("is to be pipelined, but has no first segment "
                          "'once', so its prologue might not run");
}

LogicalResult mlir::fagpu::expandSlots(Block *body) {
  if (!isScheduled(body))
    return success();
  if (failed(inheritSlots(body)) || failed(verifyOnce(body)))
    return failure();
  return SlotOrder(body).verify();
}

namespace {
struct ExpandSlotsPass
    : public fagpu::impl::FAGPUExpandSlotsPassBase<ExpandSlotsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) -> WalkResult {
      if (!isa<ForOp, RepeatOp>(op))
        return WalkResult::advance();
      return WalkResult(expandSlots(&op->getRegion(0).front()));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
