//===- ThreadRows.h - Rows that threads move in pieces ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_THREADROWS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_THREADROWS_H

#include "SequenceViews.h"

namespace mlir::fa {

/// Memory in the order (outer, row, head, head dim); outer ones are batches or
/// pages.
struct ThreadRows {
  Value memory;

  MemRefType getType() const { return cast<MemRefType>(memory.getType()); }
  int64_t getHeadDim() const { return getType().getShape().back(); }
};

/// A view in that order.
ThreadRows orderRows(RewriterBase &rewriter, Location loc, const RowView &view);

/// Elements that a thread moves at once, 16 bytes of them at most: `counts` of
/// them lie beside each other, and rows are as far apart as types say, or by
/// whole rows.
int64_t getPieceWidth(ArrayRef<ThreadRows> all, ArrayRef<int64_t> counts);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_THREADROWS_H
