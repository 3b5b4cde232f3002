//===- Ends.cpp - Rules on who fills and reads a channel ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ChannelUse.h"
#include "Check.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallSet.h"

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

/// A role that fills a channel bank by bank fills all of its banks.
static LogicalResult checkBanks(Value end, ArrayRef<Operation *> fills) {
  auto channel = end.getDefiningOp<ChannelOp>();
  if (!channel || fills.empty())
    return success();
  llvm::SmallSet<int64_t, 4> banks;
  for (Operation *fill : fills) {
    APInt bank;
    Value number = ChannelUse(fill).getBank();
    if (!number || !matchPattern(number, m_ConstantInt(&bank)))
      return success();
    banks.insert(bank.getSExtValue());
  }
  if (banks.size() >= channel.getBanks())
    return success();
  InFlightDiagnostic diagnostic =
      fills.front()->emitOpError()
      << "is of a role that fills " << banks.size() << " of the "
      << channel.getBanks() << " banks of a channel; expected all of them";
  diagnostic.attachNote(channel.getLoc()) << "the channel is made here";
  return diagnostic;
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
    return checkBanks(end, fills);
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
