//===- SummarizeMask.h - Votes of a mask on block values --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_SUMMARIZEMASK_H
#define FA_LIB_CONVERSION_FATOFAGPU_SUMMARIZEMASK_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// Whether the ranges around a summary visit queries, so that a block of keys
/// stays the same: these then are the rows.
bool rowsAreKeys(SummarizeMaskOp op);

/// The rows that stay the same.
int64_t getNumRows(SummarizeMaskOp op);

/// Replaces a summary in a kernel: the mask of all pairs as a block value, and
/// whether any pair is visible and any is hidden. Fails with a diagnostic where
/// the block does not fit the role or the region has no form on block values.
LogicalResult decomposeSummary(SummarizeMaskOp op);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_SUMMARIZEMASK_H
