//===- VerifyPlanned.cpp - What the conversion needs of the plan ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyPlanned.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

static LogicalResult refuseBefore(Operation *op, StringRef missing,
                                  StringRef pass) {
  return op->emitOpError() << "has no " << missing << "; run " << pass
                           << " before";
}

/// Each use of a channel, mail or turns needs what the plan says of it.
static LogicalResult verifyPlan(Value resource) {
  Operation *made = resource.getDefiningOp();
  if (auto turns = dyn_cast<TurnsOp>(made))
    return turns.getBarrier()
               ? success()
               : refuseBefore(turns, "barrier(...)", "fagpu-plan-resources");
  // Channels that no other role fills or reads have no barriers.
  auto channel = dyn_cast<ChannelOp>(made);
  bool isPlanned = channel ? channel.getOffset().has_value()
                           : cast<MailOp>(made).getBarriers().has_value();
  return isPlanned ? success()
                   : refuseBefore(made, "offset(...)", "fagpu-plan-resources");
}

template <typename Use> static LogicalResult verifyStage(Use op, Value end) {
  if (!op.getStage())
    return refuseBefore(op, "stage(...)", "fagpu-assign-stages");
  return verifyPlan(end);
}

static LogicalResult verifyPut(PutOp op) {
  if (failed(verifyStage(op, op.getChannel())))
    return failure();
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (isCopiedByThreads(channel) || channel.getBarriers())
    return success();
  return refuseBefore(channel, "barriers(...)", "fagpu-plan-resources");
}

static LogicalResult verifyAcquire(AcquireOp op) {
  if (failed(verifyStage(op, op.getChannel())))
    return failure();
  if (isCopiedByThreads(op.getChannel()) && !op.getPending())
    return refuseBefore(op, "pending(...)", "fagpu-assign-copies");
  return success();
}

/// Warps that share copies are told of a ticket, one thread knows of it.
static LogicalResult verifyTicket(TicketOp op) {
  auto role = op->getParentOfType<RoleOp>();
  bool isTold = op->hasAttr(toldAtAttrName);
  if (!sharesCopies(role)) {
    if (!isTold)
      return success();
    return op.emitOpError()
           << "has '" << toldAtAttrName << "' in @" << role.getSymName()
           << ", which copies no rows in pages; expected none "
              "where one thread runs the role";
  }
  if (!isTold)
    return refuseBefore(op, "'" + toldAtAttrName.str() + "'",
                        "fagpu-plan-resources");
  return role.getBarrier()
             ? success()
             : refuseBefore(role, "barrier(...)", "fagpu-plan-resources");
}

static LogicalResult verifyStore(StoreOp op) {
  if (!op.getVia())
    return success();
  if (failed(verifyPlan(op.getVia())))
    return failure();
  auto role = op->getParentOfType<RoleOp>();
  if (op.getVia().getDefiningOp<ChannelOp>().getEngine() == Engine::tma_store &&
      !role.getBarrier())
    return refuseBefore(role, "barrier(...)", "fagpu-plan-resources");
  return success();
}

static LogicalResult verifyOperation(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](PutOp op) { return verifyPut(op); })
      .Case([](AcquireOp op) { return verifyAcquire(op); })
      .Case([](TicketOp op) { return verifyTicket(op); })
      .Case([](WriteOp op) { return verifyStage(op, op.getChannel()); })
      .Case([](StoreOp op) { return verifyStore(op); })
      .Case<SendOp, RecvOp>(
          [](auto op) { return verifyStage(op, op.getMail()); })
      .Case<TakeOp, PassOp>([](auto op) { return verifyPlan(op.getTurns()); })
      .Case([](WaitOp op) {
        return op.getPending()
                   ? success()
                   : refuseBefore(op, "pending(...)", "fagpu-assign-waits");
      })
      .Case<ForOp, RepeatOp, YieldOp>([](auto op) {
        return op.emitOpError() << "has no lowering of its own; run "
                                   "fagpu-pipeline before";
      })
      .Case([](func::CallOp op) { return verifyBlockOperation(op); })
      .Default(success());
}

LogicalResult mlir::fagpu::verifyPlanned(func::FuncOp kernel) {
  if (!kernel->hasAttr(FAGPUDialect::sharedMemoryAttrName))
    return refuseBefore(kernel,
                        "'" + FAGPUDialect::sharedMemoryAttrName.str() + "'",
                        "fagpu-plan-resources");
  return failure(kernel
                     .walk<WalkOrder::PreOrder>([](Operation *op) {
                       return WalkResult(verifyOperation(op));
                     })
                     .wasInterrupted());
}
