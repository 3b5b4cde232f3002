//===- Skeleton.h - How a role uses channels, mail and turns ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A role without its arithmetic on block values: the operations of the protocol
// between roles, the scalars that they depend on, and the control flow around
// them as jumps.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_SKELETON_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_SKELETON_H

#include "Scalars.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

struct Instruction {
  enum Kind {
    /// Scalars by `op`; operands copied to the results, all at once.
    Compute,
    Copy,
    /// `value`, operand + `value`, operand + operand, comparisons.
    Set,
    AddImmediate,
    Add,
    Less,
    LessEqual,
    /// To `target`, always or where the operand is zero.
    Jump,
    JumpIfZero,
    /// The operation `op` is a loop that begins, does a trip, and ends.
    LoopBegin,
    LoopTrip,
    LoopEnd,
    /// An operation of the protocol.
    Protocol,
  };

  Kind kind;
  Operation *op = nullptr;
  /// Registers, one for each scalar or view; `none` for other values.
  SmallVector<unsigned, 4> operands, results;
  unsigned target = 0;
  int64_t value = 0;
  ScalarRule rule = {};

  static constexpr unsigned none = ~0u;
};

/// Whether the loop does as many trips in every execution.
bool hasConstantTrips(Operation *loop);

class Skeleton {
public:
  /// The kernel's operations outside of roles, then those of `role`.
  Skeleton(func::FuncOp kernel, RoleOp role);

  RoleOp getRole() const { return role; }
  ArrayRef<Instruction> getInstructions() const { return instructions; }
  unsigned getNumRegisters() const { return numRegisters; }

  /// The registers of the kernel's arguments and of the group's number.
  ArrayRef<unsigned> getArguments() const { return arguments; }
  unsigned getGroup() const { return group; }

private:
  friend class SkeletonCompiler;

  RoleOp role;
  SmallVector<Instruction> instructions;
  SmallVector<unsigned> arguments;
  unsigned group = 0, numRegisters = 0;
};

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_SKELETON_H
