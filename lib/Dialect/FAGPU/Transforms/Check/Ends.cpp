//===- Ends.cpp - Rules on who fills and reads a channel ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ChannelUse.h"
#include "Check.h"

using namespace mlir;
using namespace mlir::fagpu;

static StringRef describe(Value end) {
  return isa<MailType>(end.getType()) ? "mail" : "channel";
}

/// All of the operations stand in one role.
static LogicalResult checkOneRole(ArrayRef<Operation *> uses, StringRef verb) {
  for (Operation *op : uses) {
    auto role = op->getParentOfType<RoleOp>();
    auto first = uses.front()->getParentOfType<RoleOp>();
    StringRef what = describe(op->getOperand(0));
    if (!role)
      return op->emitOpError()
             << verb << " a " << what << " outside of a role; expected it in "
             << "a 'fagpu.role' of the kernel";
    if (role == first)
      continue;
    InFlightDiagnostic diagnostic =
        op->emitOpError() << verb << " in the role @" << role.getSymName()
                          << " a " << what << " that @" << first.getSymName()
                          << " " << verb << " too; expected one role, or a "
                          << what << " for each";
    diagnostic.attachNote(uses.front()->getLoc()) << "the other use is here";
    return diagnostic;
  }
  return success();
}

static LogicalResult checkUsersOf(Value end) {
  SmallVector<Operation *> fills, reads;
  for (Operation *user : end.getUsers())
    if (ChannelUse::isUse(user))
      (ChannelUse(user).isProducer() ? fills : reads).push_back(user);
  // Users come last first.
  std::reverse(fills.begin(), fills.end());
  std::reverse(reads.begin(), reads.end());
  if (failed(checkOneRole(fills, "fills")) ||
      failed(checkOneRole(reads, "reads")))
    return failure();
  if (fills.empty() == reads.empty())
    return success();
  Operation *op = fills.empty() ? reads.front() : fills.front();
  InFlightDiagnostic diagnostic = op->emitOpError();
  if (fills.empty())
    diagnostic << "waits for a " << describe(end) << " that nothing fills";
  else
    diagnostic << "fills a " << describe(end) << " that nothing reads";
  diagnostic.attachNote(end.getLoc())
      << "the " << describe(end) << " is made here";
  return diagnostic;
}

LogicalResult mlir::fagpu::checkEnds(func::FuncOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (isa<ChannelOp, MailOp>(op) && failed(checkUsersOf(op.getResult(0))))
      return failure();
  return success();
}
