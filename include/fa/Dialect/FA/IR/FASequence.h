//===- FASequence.h - What says where sequences are -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FASEQUENCE_H
#define FA_DIALECT_FA_IR_FASEQUENCE_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// What is wrong with a sequence: bits of a word of fa.sequence_errors.
enum class SequenceError : int32_t {
  QueryStarts = 1,
  QueryLength = 2,
  KeyStarts = 4,
  KeyLength = 8,
  KeyPages = 16
};

} // namespace mlir::fa

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FASequenceOps.h.inc"

namespace mlir::fa {

/// Orders, tables and words agree, as those of an fa.attention would.
LogicalResult verifySequences(SequenceErrorsOp op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_FASEQUENCE_H
