//===- UseCounters.h - Which uses of channels are counted together --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_USECOUNTERS_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_USECOUNTERS_H

#include "ChannelUse.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::fagpu {

/// Numbers the counters of a kernel. A role counts what it fills and what it
/// reads of each channel, banks that it reads by their number apart; where it
/// uses several channels once in each of the same blocks, none inside another,
/// one counter serves them all.
class UseCounters {
public:
  explicit UseCounters(ArrayRef<ChannelUse> uses);

  unsigned getCounter(ChannelUse use) const {
    return counterOf.find(getEnd(use))->second;
  }

  /// Whether the counter goes up at this use: it is the last one in its block.
  bool advances(ChannelUse use) const {
    return advancing.contains(use.getOperation());
  }

private:
  /// A role's end of a channel, or of a bank of it that the role reads by
  /// number; that is -1 for what a role fills, and -2 where it reads no bank by
  /// number.
  using End = std::tuple<Operation *, Value, int64_t>;

  static End getEnd(ChannelUse use);
  static bool canShare(ArrayRef<ChannelUse> uses);

  DenseMap<End, unsigned> counterOf;
  DenseSet<Operation *> advancing;
};

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_USECOUNTERS_H
