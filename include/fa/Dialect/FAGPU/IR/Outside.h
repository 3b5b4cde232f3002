//===- Outside.h - What is read outside of memory ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_OUTSIDE_H
#define FA_DIALECT_FAGPU_IR_OUTSIDE_H

#include "mlir/IR/Operation.h"

namespace mlir::fagpu {

/// On a fagpu.fetch, or a fagpu.put of floats by tma: indices outside of the
/// memory, and those from `rows` on, read as NaN and not as zero. So scores of
/// keys that are nowhere are NaN, unless a mask hides them.
inline constexpr StringLiteral nanAttrName = "fagpu.nan";

inline bool fillsNaN(Operation *op) { return op->hasAttr(nanAttrName); }

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_IR_OUTSIDE_H
