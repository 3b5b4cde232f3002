//===- Sinks.h - Scores that count as one more key --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_SINKS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_SINKS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// The sink of a query block of one head, for fa.finalize: one number where the
/// region does not look at the query, else one for each of `rows`. Null without
/// a sink. `lengths` are the valid queries and keys of the batch.
Value buildSink(OpBuilder &builder, AttentionOp op, OpFoldResult rows,
                ValueRange lengths);

/// Fills the destinations that a gradient has for captures of its sink, from
/// the numbers of each query row (fa.prepare_gradient), batch x heads x
/// queries.
void addSinkGradients(RewriterBase &rewriter, AttentionGradientOp op,
                      Value delta, Value reference);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_SINKS_H
