//===- IterationCloner.cpp - Copies of a loop body's operations -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones operations of a loop body for one iteration or another, as software
// pipelining needs (IterationCloner.h). Scalars and other unscheduled
// operations are cloned when they are first needed. Read `clone`, then
// `resolve`.
//
//===----------------------------------------------------------------------===//

#include "IterationCloner.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fagpu;

bool mlir::fagpu::hasNoPlace(Operation *op) {
  if (op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() ||
      op->getNumResults() == 0)
    return false;
  if (matchPattern(op, m_Constant()))
    return true;
  for (Type type : op->getResultTypes())
    if (!type.isIntOrIndexOrFloat() && !isa<ViewType>(type))
      return false;
  return isa<memref::LoadOp>(op) || isMemoryEffectFree(op);
}

SetVector<Value> mlir::fagpu::usedValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

bool mlir::fagpu::isScheduled(Block *body) {
  return llvm::any_of(*body,
                      [](Operation &op) { return getSlot(&op).has_value(); });
}

SmallVector<ScheduledOp> mlir::fagpu::getScheduledOps(Block *body) {
  SmallVector<ScheduledOp> ops;
  for (Operation &op : body->without_terminator())
    if (!hasNoPlace(&op))
      ops.push_back({&op, getSlot(&op).value_or(Slot{0, 0})});
  return ops;
}

bool IterationCloner::isOfBody(Value value) {
  Operation *definition = value.getDefiningOp();
  return (definition ? definition->getBlock() : value.getParentBlock()) == body;
}

Value IterationCloner::resolve(Value value, IRMapping &iteration,
                               OpBuilder &builder, Operation *user) {
  if (Value mapped = iteration.lookupOrNull(value))
    return mapped;
  if (!isOfBody(value))
    return value;
  auto isMade = [&](Value next) {
    Operation *definition = next.getDefiningOp();
    return iteration.contains(next) || !isOfBody(next) || !definition ||
           !hasNoPlace(definition);
  };
  fa::visitOperandsFirst(value, isMade, [&](Value next) {
    clone(next.getDefiningOp(), iteration, builder, std::nullopt);
  });
  if (Value made = iteration.lookupOrNull(value))
    return made;
  if (!failed)
    user->emitOpError("uses a value in a slot before the one that makes it")
            .attachNote(value.getLoc())
        << "made here";
  failed = true;
  return value;
}

void IterationCloner::clone(Operation *op, IRMapping &iteration,
                            OpBuilder &builder, std::optional<Slot> slot) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Value condition =
        resolve(branch.getCondition(), iteration, builder, branch);
    APInt constant;
    if (matchPattern(condition, m_ConstantInt(&constant))) {
      Block *taken = constant.isOne() ? branch.thenBlock() : branch.elseBlock();
      if (!taken)
        return;
      for (Operation &nested : taken->without_terminator())
        clone(&nested, iteration, builder, slot);
      for (auto [result, yielded] : llvm::zip_equal(
               branch.getResults(), taken->getTerminator()->getOperands()))
        iteration.map(result, resolve(yielded, iteration, builder, op));
      return;
    }
  }
  for (Value used : usedValues(op))
    if (Value value = resolve(used, iteration, builder, op); value != used)
      iteration.map(used, value);
  Operation *copy = builder.clone(*op, iteration);
  removeSlot(copy);
  if (slot && !hasNoPlace(copy))
    setSlot(copy, *slot);

  // Flags are constant in each copy, so much of it folds.
  if (copy->getNumRegions() || !isMemoryEffectFree(copy) ||
      matchPattern(copy, m_Constant()))
    return;
  SmallVector<Value> folded;
  if (mlir::failed(builder.tryFold(copy, folded)) ||
      folded.size() != copy->getNumResults() ||
      llvm::any_of(folded,
                   [&](Value value) { return value.getDefiningOp() == copy; }))
    return;
  for (auto [result, value] : llvm::zip_equal(op->getResults(), folded))
    iteration.map(result, value);
  copy->erase();
}

void IterationCloner::collectNeeded(Operation *op, SetVector<Value> &needed) {
  collectNeeded(usedValues(op).getArrayRef(), needed);
}

void IterationCloner::collectNeeded(ValueRange values,
                                    SetVector<Value> &needed) {
  SmallVector<Value> pending(llvm::reverse(values));
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!isOfBody(value) || !seen.insert(value).second)
      continue;
    Operation *definition = value.getDefiningOp();
    if (definition && hasNoPlace(definition))
      llvm::append_range(pending, llvm::reverse(usedValues(definition)));
    else
      needed.insert(value);
  }
}

unsigned IterationCloner::countFloating(ArrayRef<Value> values) {
  SetVector<Value> made(values.begin(), values.end());
  unsigned count = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (!op || !isOfBody(made[i]) || !hasNoPlace(op) ||
        matchPattern(op, m_Constant()))
      continue;
    ++count;
    made.insert_range(usedValues(op));
  }
  return count;
}

void mlir::fagpu::sortStep(SmallVectorImpl<StepItem> &items) {
  for (auto [position, item] : llvm::enumerate(items))
    item.position = position;
  llvm::sort(items, [](const StepItem &a, const StepItem &b) {
    auto key = [](const StepItem &item) {
      Slot slot = item.scheduled.slot;
      return std::tuple(slot.order, -slot.stage, item.position);
    };
    return key(a) < key(b);
  });
}
