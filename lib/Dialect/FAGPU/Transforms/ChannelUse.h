//===- ChannelUse.h - Uses of channels and mails ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHANNELUSE_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHANNELUSE_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

/// One view of the operations that use a stage of a channel or mail: put,
/// write and send fill one, acquire and recv read one.
class ChannelUse {
public:
  explicit ChannelUse(Operation *op) : op(op) {}

  static bool isUse(Operation *op) {
    return isa<PutOp, WriteOp, SendOp, AcquireOp, RecvOp>(op);
  }

  Operation *getOperation() const { return op; }
  bool isProducer() const { return isa<PutOp, WriteOp, SendOp>(op); }

  /// The channel or mail.
  Value getChannel() const { return op->getOperand(0); }

  unsigned getDepth() const;

  /// The bank that a channel with several is used by; null otherwise.
  Value getBank() const;

  /// The condition of a put that may not happen; null otherwise.
  Value getCondition() const;

  /// How many operations like this fill one stage together.
  int64_t getNumParts() const;

  /// Whether this operation is the last that belongs to one use of the role:
  /// the last part of the last of the banks that are filled in turn.
  bool endsUse() const;

  /// Refuses parts and banks that are not filled one after the other.
  LogicalResult verifyLockstep() const;

  void setStage(Value stage, Value phase);

private:
  /// The bank, where it is a constant of a filling operation.
  std::optional<int64_t> getConstantBank() const;

  /// The filling operation of the same channel before this one in the block.
  Operation *getPrevious() const;

  /// The one behind this one in the block.
  Operation *getNext() const;

  /// Refuses to write a part of a stage whose next part is not written behind
  /// it: the warps arrive behind the last one.
  LogicalResult verifyParts() const;

  /// Which part of a stage this one fills: how many operations like it fill the
  /// same bank before it, modulo the number of parts.
  int64_t getPartNumber() const;

  Operation *op;
};

/// Whether each warp reads only what it has written to a channel itself, so
/// that no barrier has to guard it: one group writes a bank's one stage and
/// multiplies it as a first operand, whose rows each warp reads for itself.
bool isPrivateToWarps(ChannelOp channel);

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHANNELUSE_H
