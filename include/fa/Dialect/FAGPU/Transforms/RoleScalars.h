//===- RoleScalars.h - Scalars that roles compute ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_ROLESCALARS_H
#define FA_DIALECT_FAGPU_TRANSFORMS_ROLESCALARS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fagpu {

/// Whether any role can compute the operation again: it makes scalars from
/// scalars and from memory that the kernel only reads, also by branches.
bool isRoleScalar(Operation *op);

/// Operands, and what regions read from outside.
SetVector<Value> getReadValues(Operation *op);

/// Moves `op` before `position` in its block, and before it what it reads.
void moveWithOperands(Operation *op, Operation *position);

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_TRANSFORMS_ROLESCALARS_H
