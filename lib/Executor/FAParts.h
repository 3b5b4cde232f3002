//===- FAParts.h - Pieces of the fa semantics -------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_FAPARTS_H
#define FA_LIB_EXECUTOR_FAPARTS_H

#include "fa/Executor/Semantics.h"

namespace mlir::fa::executor {

/// fa.apply.
void addApplySemantics(Semantics &semantics);
/// fa.append.
void addAppendSemantics(Semantics &semantics);
/// fa.sequence_errors.
void addSequenceErrorSemantics(Semantics &semantics);
/// fa.attention_gradient.
void addWholeGradientSemantics(Semantics &semantics);
/// Its steps, their begin and end, and what adds to gradients.
void addGradientSemantics(Semantics &semantics);
/// fa.dropout.
void addDropoutSemantics(Semantics &semantics);
/// fa.key_ranges, fa.query_ranges, fa.finalize, fa.combine, and what asks about
/// a block or a length.
void addFAStateSemantics(Semantics &semantics);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_FAPARTS_H
