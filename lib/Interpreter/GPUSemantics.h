//===- GPUSemantics.h - Meanings of fagpu operations -----------*- C++ -*--===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_GPUSEMANTICS_H
#define FA_LIB_INTERPRETER_GPUSEMANTICS_H

#include "Machine.h"
#include "fa/Executor/ArrayOps.h"
#include "fa/Executor/ProgramBuilder.h"

namespace mlir::fa::interpreter {

/// Roles, loops and the position of a block.
void addControlSemantics(executor::Semantics &semantics);
/// Channels, views and their release.
void addChannelSemantics(executor::Semantics &semantics);
/// What fills channels.
void addFillSemantics(executor::Semantics &semantics);
/// Mail, turns and tile counters.
void addSynchronizationSemantics(executor::Semantics &semantics);
/// Matrix products and waits.
void addMatrixSemantics(executor::Semantics &semantics);
/// Reductions, broadcasts, indices and layouts of block values.
void addBlockSemantics(executor::Semantics &semantics);
/// Elements of global memory at indices of their own.
void addGatherSemantics(executor::Semantics &semantics);
/// Stores to global memory.
void addStoreSemantics(executor::Semantics &semantics);
/// Launches and what they need.
void addHostSemantics(executor::Semantics &semantics, Machine &machine);

/// An operand that may be absent.
inline std::optional<unsigned>
getOptionalRegister(executor::ProgramBuilder &builder, Value value) {
  if (!value)
    return std::nullopt;
  return builder.getRegister(value);
}

inline int64_t getIntegerOr(executor::Frame &frame,
                            std::optional<unsigned> index, int64_t otherwise) {
  return index ? frame.integer(*index) : otherwise;
}

ChannelState &getChannel(executor::Frame &frame, unsigned index);
/// The number of a bank, 0 if the operand is absent. Fails with a diagnostic.
FailureOr<int64_t> getBank(Worker &worker, Operation *op,
                           executor::Frame &frame, const ChannelState &channel,
                           std::optional<unsigned> bank);

/// Stage and phase that fagpu-assign-stages gives an operation, if it has.
struct StageOperands {
  std::optional<unsigned> stage, phase;

  /// Refuses numbers that are not those of this use. A filler waits for the
  /// phase before.
  LogicalResult check(Worker &worker, Operation *op, executor::Frame &frame,
                      int64_t use, int64_t depth, bool isFiller) const;
};
template <typename OpT>
StageOperands getStageOperands(OpT op, executor::ProgramBuilder &builder) {
  return {getOptionalRegister(builder, op.getStage()),
          getOptionalRegister(builder, op.getPhase())};
}

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_GPUSEMANTICS_H
