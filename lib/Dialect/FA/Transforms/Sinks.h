//===- Sinks.h - Scores that count as one more key --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_SINKS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_SINKS_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// The sink of a query block of one head, for fa.finalize: one number where the
/// region does not look at the query, else one for each of `rows`. Null without
/// a sink. `lengths` are the valid queries and keys of the batch.
Value buildSink(OpBuilder &builder, AttentionOp op, OpFoldResult rows,
                ValueRange lengths);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_SINKS_H
