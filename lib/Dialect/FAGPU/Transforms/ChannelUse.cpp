//===- ChannelUse.cpp - Uses of channels and mails ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A uniform view of the operations that use a channel or mail, producers and
// consumers alike: depth, bank, parts of a stage, whether a use is complete.
// The passes that assign stages and plan barriers ask it. Begin with
// `endsUse`.
//
//===----------------------------------------------------------------------===//

#include "ChannelUse.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

unsigned ChannelUse::getDepth() const {
  Type type = getChannel().getType();
  if (auto channel = dyn_cast<ChannelType>(type))
    return channel.getDepth();
  return cast<MailType>(type).getDepth();
}

Value ChannelUse::getBank() const {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<PutOp, WriteOp, AcquireOp>([](auto use) { return use.getBank(); })
      .Default([](Operation *) { return Value(); });
}

Value ChannelUse::getCondition() const {
  auto put = dyn_cast<PutOp>(op);
  return put ? put.getCondition() : Value();
}

int64_t ChannelUse::getNumParts() const {
  if (!isa<PutOp, WriteOp>(op))
    return 1;
  int64_t tile = ShapedType::getNumElements(
      cast<ChannelType>(getChannel().getType()).getShape());
  if (auto put = dyn_cast<PutOp>(op))
    return tile /
           (ShapedType::getNumElements(put.getSizes()) *
            (put.getBank() ? 1 : op->getParentOfType<RoleOp>().getGroups()));
  auto write = cast<WriteOp>(op);
  int64_t elements =
      cast<RankedTensorType>(write.getValue().getType()).getNumElements();
  // Without banks, all groups of the role fill a stage together.
  int64_t groups =
      write.getBank() ? 1 : op->getParentOfType<RoleOp>().getGroups();
  return std::max<int64_t>(1, tile / (elements * groups));
}

std::optional<int64_t> ChannelUse::getConstantBank() const {
  APInt bank;
  if (isProducer() && getBank() &&
      matchPattern(getBank(), m_ConstantInt(&bank)))
    return bank.getSExtValue();
  return std::nullopt;
}

Operation *ChannelUse::getPrevious() const {
  for (Operation *previous = op->getPrevNode(); previous;
       previous = previous->getPrevNode())
    if (previous->getName() == op->getName() &&
        previous->getOperand(0) == getChannel())
      return previous;
  return nullptr;
}

int64_t ChannelUse::getPartNumber() const {
  int64_t number = 0;
  for (Operation *previous = getPrevious(); previous;
       previous = ChannelUse(previous).getPrevious()) {
    ChannelUse before(previous);
    if (before.getConstantBank() != getConstantBank() ||
        before.getNumParts() != getNumParts())
      break;
    ++number;
  }
  return number % getNumParts();
}

Operation *ChannelUse::getNext() const {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (next->getName() == op->getName() && next->getOperand(0) == getChannel())
      return next;
  return nullptr;
}

LogicalResult ChannelUse::verifyParts() const {
  int64_t parts = getNumParts(), number = getPartNumber();
  if (!isa<WriteOp>(op) || number + 1 == parts)
    return success();
  if (Operation *next = getNext()) {
    ChannelUse after(next);
    if (after.getConstantBank() == getConstantBank() &&
        after.getNumParts() == parts)
      return success();
  }
  return op->emitOpError()
         << "writes part " << number << " of " << parts
         << " of a stage, expected the next part of that size behind it in its "
            "block";
}

bool ChannelUse::endsUse() const {
  if (getPartNumber() + 1 != getNumParts())
    return false;
  std::optional<int64_t> bank = getConstantBank();
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  return !bank || !channel || *bank + 1 == channel.getBanks();
}

LogicalResult ChannelUse::verifyLockstep() const {
  if (failed(verifyParts()))
    return failure();
  std::optional<int64_t> bank = getConstantBank();
  if (!bank)
    return success();
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  if (channel && *bank >= channel.getBanks())
    return op->emitOpError() << "fills bank " << *bank
                             << " of a channel that has " << channel.getBanks();
  if (*bank == 0 || getPartNumber() > 0)
    return success();
  Operation *previous = getPrevious();
  if (previous && ChannelUse(previous).getConstantBank() == *bank - 1)
    return success();
  return op->emitOpError() << "fills bank " << *bank << ", but bank "
                           << *bank - 1
                           << " is not filled just before it in its block";
}

void ChannelUse::setStage(Value stage, Value phase) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<PutOp, WriteOp, SendOp, AcquireOp, RecvOp>([&](auto use) {
        use.getStageMutable().assign(stage);
        use.getPhaseMutable().assign(phase);
      });
  if (auto write = dyn_cast<WriteOp>(op)) {
    int64_t number = getPartNumber();
    write.setContinues(number > 0);
    write.setUnfinished(number + 1 < getNumParts());
  }
}

static bool isOwnBank(Value bank, RoleOp role) {
  return bank ? bank == role.getGroup() : role.getGroups() == 1;
}

static bool isFirstOperand(OpOperand &use) {
  auto product = dyn_cast<MmaAsyncOp>(use.getOwner());
  return product && use.get() == product.getA() && use.get() != product.getB();
}

bool mlir::fagpu::isPrivateToWarps(ChannelOp channel) {
  if (channel.getEngine() != Engine::threads ||
      channel.getType().getDepth() != 1)
    return false;
  Operation *owner = nullptr;
  for (Operation *user : channel->getUsers()) {
    auto role = user->getParentOfType<RoleOp>();
    if (!role || (owner && owner != role) || !(isa<WriteOp, AcquireOp>(user)) ||
        !isOwnBank(ChannelUse(user).getBank(), role))
      return false;
    owner = role;
    // A part would be of rows that other warps write.
    if (auto write = dyn_cast<WriteOp>(user))
      if (!write.getPart().empty() || write.getTransposed())
        return false;
    if (auto acquire = dyn_cast<AcquireOp>(user))
      for (OpOperand &use : acquire.getView().getUses())
        if (!isa<ReleaseOp>(use.getOwner()) && !isFirstOperand(use))
          return false;
  }
  return owner != nullptr;
}
