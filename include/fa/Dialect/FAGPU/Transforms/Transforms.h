//===- Transforms.h - Transformations of the fagpu dialect ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The free functions behind the passes. Each reports one diagnostic when it
// fails; the IR may then be partly changed.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_TRANSFORMS_H
#define FA_DIALECT_FAGPU_TRANSFORMS_TRANSFORMS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fagpu {

/// Gives every block value of a role its layout. Fails after one diagnostic.
LogicalResult inferLayouts(RoleOp role);

/// Whether the operation has no place of its own in a schedule: a scalar
/// without effects, a constant, a part of a view, a scalar load.
bool hasNoPlace(Operation *op);

/// Removes the slots that operations of the body would have without them.
void leaveOutInheritedSlots(Block *body);

/// Gives every operation of a loop body that has slots its own slot, and
/// refuses a body whose slots contradict its dependences.
LogicalResult expandSlots(Block *body);

/// Replaces the loop by loops of scf, overlapping consecutive iterations as the
/// slots of the body say. The slots must be expanded.
LogicalResult pipelineLoop(ForOp loop);
LogicalResult pipelineLoop(RepeatOp loop);

/// Replaces a rolled loop by one of scf, which computes the segment's flags.
LogicalResult rollLoop(ForOp loop);

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_TRANSFORMS_TRANSFORMS_H
