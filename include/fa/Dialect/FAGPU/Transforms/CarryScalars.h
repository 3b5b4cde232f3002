//===- CarryScalars.h - Scalars made once in a loop -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_CARRYSCALARS_H
#define FA_DIALECT_FAGPU_TRANSFORMS_CARRYSCALARS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

/// Replaces a loop by one that carries more values, which are `added` first.
/// Its body still has to yield their next ones.
fagpu::ForOp carryScalars(OpBuilder &builder, fagpu::ForOp loop,
                          ValueRange added);

/// Makes scalars of the types `added` in one iteration of a loop, the last one
/// or, where there is one, the one before it (`isEarly`), and carries them to
/// its end. The loop is replaced by one that has them as last results, which
/// come back.
SmallVector<Value>
carryThrough(OpBuilder &builder, fagpu::ForOp loop, TypeRange added,
             bool isEarly, function_ref<SmallVector<Value>(OpBuilder &)> make);

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_TRANSFORMS_CARRYSCALARS_H
