//===- FASemantics.h - The fa dialect in the executor -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is evaluated row by row, by its definition: mask and score regions
// over all keys, the exact maximum, then exponentials, sum and weighted values.
// The online operations follow their own definitions. Regions run in the
// policy's numbers; the softmax itself is in double.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_FASEMANTICS_H
#define FA_EXECUTOR_FASEMANTICS_H

#include "fa/Executor/Semantics.h"

namespace mlir::fa::executor {

/// What a page that is none spoils: rows that see one of its keys, or all of
/// their sequence, as an implementation may too.
enum class MissingPage { SpoilsRows, SpoilsSequence };

/// Adds the operations of the fa dialect. `Execution::chooseRows` restricts
/// fa.attention to some rows, `Execution::countedWork` counts instead of
/// computing, `Execution::checkFullRanges` tests the ranges
/// that fa.key_ranges declares full.
void addFASemantics(Semantics &semantics,
                    MissingPage missing = MissingPage::SpoilsRows);

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_FASEMANTICS_H
