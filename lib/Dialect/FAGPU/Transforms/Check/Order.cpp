//===- Order.cpp - Rules that keep the order of uses ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ChannelUse.h"
#include "Check.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

static std::string toString(Slot slot) {
  return "[" + std::to_string(slot.stage) + ", " + std::to_string(slot.order) +
         "]";
}

//===----------------------------------------------------------------------===//
// Pipelined loops
//===----------------------------------------------------------------------===//

namespace {
/// Two uses of one thing by one role in one nest of pipelined loops. Pipelining
/// keeps their order if they are of the same iterations and the same stage.
struct UsePair {
  Operation *first, *second;

  LogicalResult verify() const {
    if (getLoop(first) != getLoop(second))
      return emit() << "at another loop level; expected one loop for both";
    std::optional<Slot> before = getEffectiveSlot(first);
    std::optional<Slot> after = getEffectiveSlot(second);
    if (!before || !after)
      return success(); // fagpu-expand-slots refuses it.
    if (before->stage != after->stage)
      return emit() << "in stage " << before->stage << ", this one in "
                    << after->stage << "; expected stage " << before->stage;
    if (before->order > after->order)
      return emit() << "in slot " << toString(*before)
                    << ", this one, which follows it, in " << toString(*after)
                    << "; expected an order of at least " << before->order;
    return success();
  }

private:
  static Operation *getLoop(Operation *op) {
    do
      op = op->getParentOp();
    while (!isa<ForOp, RepeatOp, scf::ForOp, scf::WhileOp, RoleOp>(op));
    return op;
  }

  InFlightDiagnostic emit() const {
    InFlightDiagnostic diagnostic =
        second->emitOpError()
        << "would change places with a use that stands before it: that is ";
    diagnostic.attachNote(first->getLoc()) << "the use before it is here";
    return diagnostic;
  }
};
} // namespace

/// Uses that come in turn: those that fill, those that read, turns.
static int64_t getKind(Operation *op) {
  if (isa<TakeOp, PassOp>(op))
    return 2;
  return ChannelUse(op).isProducer();
}

LogicalResult mlir::fagpu::checkOrder(func::FuncOp kernel) {
  DenseMap<std::tuple<Operation *, Value, int64_t>, Operation *> previous;
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (!ChannelUse::isUse(op) && !isa<TakeOp, PassOp>(op))
      return WalkResult::advance();
    Operation *nest = getScheduledNest(op);
    if (!nest)
      return WalkResult::advance();
    Operation *&last = previous[{nest, op->getOperand(0), getKind(op)}];
    if (last && failed(UsePair{last, op}.verify()))
      return WalkResult::interrupt();
    last = op;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

static LogicalResult checkGroups(TurnsOp turns, Operation *user) {
  auto role = user->getParentOfType<RoleOp>();
  if (!role)
    return user->emitOpError("takes part in turns outside of a role; expected "
                             "it in a 'fagpu.role' of the kernel");
  if (role.getGroups() == turns.getGroups())
    return success();
  InFlightDiagnostic diagnostic =
      user->emitOpError() << "is in the role @" << role.getSymName() << " of "
                          << role.getGroups() << " groups, but the turns are "
                          << "for " << turns.getGroups() << "; expected "
                          << role.getGroups();
  diagnostic.attachNote(turns.getLoc()) << "the turns are made here";
  return diagnostic;
}

/// In every block, takes and passes of the same turns alternate.
static LogicalResult checkBlock(ArrayRef<Operation *> users) {
  Operation *taken = nullptr;
  for (Operation *op : users) {
    if (isa<TakeOp>(op) == !taken) {
      taken = taken ? nullptr : op;
      continue;
    }
    InFlightDiagnostic diagnostic = op->emitOpError();
    if (!taken) {
      diagnostic << "passes a turn that has not been taken in its block; "
                    "expected a 'fagpu.take' before it";
      return diagnostic;
    }
    diagnostic << "takes a turn again before it has been passed; expected a "
                  "'fagpu.pass' before it";
    diagnostic.attachNote(taken->getLoc()) << "taken here";
    return diagnostic;
  }
  if (taken)
    return taken->emitOpError("takes a turn that is not passed in its block; "
                              "expected a 'fagpu.pass' after it");
  return success();
}

LogicalResult mlir::fagpu::checkTurns(func::FuncOp kernel) {
  llvm::MapVector<std::pair<Value, Block *>, SmallVector<Operation *>> users;
  WalkResult result =
      kernel.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
        if (!isa<TakeOp, PassOp>(op))
          return WalkResult::advance();
        users[{op->getOperand(0), op->getBlock()}].push_back(op);
        auto turns = op->getOperand(0).getDefiningOp<TurnsOp>();
        return WalkResult(turns ? checkGroups(turns, op) : success());
      });
  if (result.wasInterrupted())
    return failure();
  for (auto &[where, ops] : users)
    if (failed(checkBlock(ops)))
      return failure();
  return success();
}
