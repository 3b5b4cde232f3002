//===- TransposedReads.h - Boxes whose rows become columns ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_TRANSPOSEDREADS_H
#define FA_DIALECT_FAGPU_IR_TRANSPOSEDREADS_H

#include "mlir/IR/Operation.h"

namespace mlir::fagpu {

/// On `fagpu.fetch` and `fagpu.load` of a matrix of 16-bit elements: rows of
/// the box, or of the view, are columns of the result.
inline constexpr llvm::StringLiteral transposedAttrName = "fagpu.transposed";

inline bool isTransposed(Operation *op) {
  return op->hasAttr(transposedAttrName);
}

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_IR_TRANSPOSEDREADS_H
