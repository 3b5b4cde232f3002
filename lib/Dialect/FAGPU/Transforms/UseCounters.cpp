//===- UseCounters.cpp - Which uses of channels are counted together ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UseCounters.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fagpu;

static int64_t getReadBank(ChannelUse use) {
  APInt bank;
  if (use.isProducer())
    return -1;
  if (use.getBank() && matchPattern(use.getBank(), m_ConstantInt(&bank)))
    return bank.getSExtValue();
  return -2;
}

UseCounters::End UseCounters::getEnd(ChannelUse use) {
  return {use.getOperation()->getParentOfType<RoleOp>(), use.getChannel(),
          getReadBank(use)};
}

/// Whether uses of a channel happen once whenever their block runs, and not
/// again inside it.
bool UseCounters::canShare(ArrayRef<ChannelUse> uses) {
  for (const ChannelUse &use : uses) {
    if (use.getCondition())
      return false;
    for (const ChannelUse &other : uses) {
      Block *block = use.getOperation()->getBlock();
      Operation *nested = block->findAncestorOpInBlock(*other.getOperation());
      if (nested && nested != use.getOperation())
        return false;
    }
  }
  return true;
}

namespace {
/// Blocks in which a counter goes up, in the order of the text, and its last
/// use in each.
struct SharedCounter {
  unsigned number;
  llvm::MapVector<Block *, Operation *> lastUses;

  bool hasBlocks(ArrayRef<ChannelUse> uses) const {
    return llvm::equal(lastUses, uses,
                       [](const auto &last, const ChannelUse &use) {
                         return last.first == use.getOperation()->getBlock();
                       });
  }

  void add(ChannelUse use) {
    Operation *&last = lastUses[use.getOperation()->getBlock()];
    if (!last || last->isBeforeInBlock(use.getOperation()))
      last = use.getOperation();
  }
};
} // namespace

UseCounters::UseCounters(ArrayRef<ChannelUse> uses) {
  llvm::MapVector<End, SmallVector<ChannelUse>> endUses;
  for (const ChannelUse &use : uses) {
    SmallVector<ChannelUse> &ofEnd = endUses[getEnd(use)];
    if (use.endsUse())
      ofEnd.push_back(use);
  }
  SmallVector<SharedCounter> shared;
  unsigned numCounters = 0;
  for (auto &entry : endUses) {
    const End &end = entry.first;
    ArrayRef<ChannelUse> ofEnd = entry.second;
    if (!canShare(ofEnd)) {
      counterOf[end] = numCounters++;
      for (const ChannelUse &use : ofEnd)
        advancing.insert(use.getOperation());
      continue;
    }
    auto *found = llvm::find_if(shared, [&](const SharedCounter &counter) {
      return counter.hasBlocks(ofEnd);
    });
    if (found == shared.end()) {
      shared.push_back({numCounters++, {}});
      found = std::prev(shared.end());
    }
    counterOf[end] = found->number;
    for (const ChannelUse &use : ofEnd)
      found->add(use);
  }
  for (const SharedCounter &counter : shared)
    for (auto &[block, last] : counter.lastUses)
      advancing.insert(last);
}
