//===- Emitter.h - Short forms of what the lowering emits -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_EMITTER_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_EMITTER_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::fagpu {

/// Emits 32-bit arithmetic, shared memory addresses and inline PTX at the
/// insertion point of a builder. Addresses are 32-bit shared memory addresses.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location location)
      : builder(builder), location(location) {}

  Value constant(int64_t value);
  Value constant64(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return b ? add(a, constant(b)) : a; }
  Value subtract(Value a, Value b);
  Value multiply(Value a, Value b);
  Value multiply(Value a, int64_t b) {
    return b == 1 ? a : multiply(a, constant(b));
  }
  Value bitAnd(Value a, int64_t b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  Value shiftLeft(Value a, int64_t bits);
  Value shiftRight(Value a, int64_t bits);
  /// One bit of a word, at its place. As text, because LLVM turns a test of a
  /// bit into a shift, and `ptxas` joins only tests to one instruction (R2P).
  Value getBit(Value word, int64_t bit);
  /// Four bytes of `low` (0 to 3) and `high` (4 to 7), each chosen by four bits
  /// of `selector`; where the upper one is set, the byte's sign eight times
  /// (PTX ISA, "prmt").
  Value permuteBytes(Value low, Value high, Value selector);
  Value equal(Value a, Value b);
  /// Of numbers without a sign.
  Value isBelow(Value a, Value b);
  /// Of numbers with a sign.
  Value isLess(Value a, Value b);
  Value logicalAnd(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// The lower 32 bits.
  Value narrow(Value value);
  /// A number with a sign in 64 bits.
  Value extend(Value value);

  Value sharedPointer(Value address);

  /// Inline PTX; `constraints` as of LLVM, outputs first. Always has effects.
  SmallVector<Value> inlinePTX(StringRef text, StringRef constraints,
                               ValueRange inputs, TypeRange outputs);

  /// A policy that tells the L2 cache when to give up what is copied (PTX ISA,
  /// "createpolicy"); no value for the usual one.
  Value createCachePolicy(std::optional<CachePriority> priority);

  /// Arrives at an mbarrier where the predicate is true, without a branch.
  void arrive(Value barrier, Value predicate);
  void arrive(Value barrier);
  /// Arrives at the mbarrier that another block of the cluster has at the same
  /// address (PTX ISA, "mapa", "mbarrier.arrive").
  void arriveInCluster(Value barrier, Value block, Value predicate);
  /// Ends the basic block within which the assembler moves instructions.
  void endBasicBlock();
  /// All threads of all blocks of the cluster wait for each other.
  void synchronizeCluster();
  /// Orders this thread's accesses to shared memory before those that the
  /// asynchronous proxy (bulk copies, products) makes after a synchronization.
  void fenceAsynchronousProxy();
  /// Waits until the phase of an mbarrier has completed.
  void waitPhase(Value barrier, Value phase);

  Value shuffleButterfly(Value value, int64_t lanes);
  /// The value of lane 0, which the assembler then knows to be uniform.
  Value firstLane(Value value);

  OpBuilder &builder;
  Location location;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_EMITTER_H
