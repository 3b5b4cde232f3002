//===- IterationCloner.h - Copies of a loop body's operations ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelining emits each operation of a loop body several times, for different
// iterations. A mapping holds the values of one iteration; operations without
// a place of their own (they "float") are copied when one of them is needed.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_ITERATIONCLONER_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_ITERATIONCLONER_H

#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fagpu {

/// The values that the operation reads: operands, and what its regions use.
SetVector<Value> usedValues(Operation *op);

/// Whether an operation of the body has a slot.
bool isScheduled(Block *body);

/// An operation of a body together with its slot.
struct ScheduledOp {
  Operation *op;
  Slot slot;
};

/// The operations of an expanded body that do not float.
SmallVector<ScheduledOp> getScheduledOps(Block *body);

class IterationCloner {
public:
  explicit IterationCloner(Block *body) : body(body) {}

  /// The value of an iteration that stands for `value` of the body.
  Value resolve(Value value, IRMapping &iteration, OpBuilder &builder,
                Operation *user);

  /// Copies `op` for the iteration, with the given slot, if any. An `scf.if`
  /// whose condition is constant becomes its branch.
  void clone(Operation *op, IRMapping &iteration, OpBuilder &builder,
             std::optional<Slot> slot);

  /// Adds the values of the body that `op` needs, seen through what floats.
  void collectNeeded(Operation *op, SetVector<Value> &needed);
  void collectNeeded(ValueRange values, SetVector<Value> &needed);

  /// How many operations that float make the values from what does not.
  unsigned countFloating(ArrayRef<Value> values);

  /// Whether a value was needed before it was made; reported already.
  bool hasFailed() const { return failed; }

private:
  bool isOfBody(Value value);

  Block *body;
  bool failed = false;
};

/// One copy that a step of the pipeline makes.
struct StepItem {
  ScheduledOp scheduled;
  IRMapping *iteration;
  /// Where it stood before sorting, to keep that order between equals.
  size_t position = 0;
};

/// Sorts by order; on a tie the older iteration comes first.
void sortStep(SmallVectorImpl<StepItem> &items);

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_ITERATIONCLONER_H
