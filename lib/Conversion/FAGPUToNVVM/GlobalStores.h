//===- GlobalStores.h - Stores to global memory by threads ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_GLOBALSTORES_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_GLOBALSTORES_H

#include "ColumnBound.h"

namespace mlir::fagpu {

/// Adjacent columns of one row that a thread stores: f32, or 16-bit floats in
/// packed pairs (i32).
struct RowPiece {
  /// Where the piece goes, at `offset` bytes from `address`.
  Value address;
  int64_t offset;
  ValueRange words;
  /// Whether the row is stored; null: it is.
  Value predicate;
  /// Bytes that the place of the piece is a multiple of; it is stored by as
  /// many at once.
  int64_t alignment = 16;
  /// Whether the words, f32, are added to those in memory.
  bool adds = false;
};

/// The bytes of f32 that threads of the kernel of an operation add at once at
/// most.
int64_t getBytesPerAdd(Operation *op);

/// Stores a piece. By a predicate, since a branch would make the loop
/// around it divergent.
void storePiece(Emitter &emit, const RowPiece &piece);

/// Stores the columns of a piece that are in memory. The piece starts at column
/// `first + column` of its tile, where `column` is the thread's; those of all
/// threads are the `span` columns from `first` on.
void storePiece(Emitter &emit, const RowPiece &piece, const ColumnBound &bound,
                int64_t first, int64_t span, Value column);

/// Moves the indices of a box by row `row + more` of the value, which counts
/// through all dimensions but that of columns, and gives the index that `rows`
/// bounds. Rows that differ in `more` share the sum of the rest.
Value addRow(Emitter &emit, StoreOp store, MutableArrayRef<Value> indices,
             Value row, int64_t more = 0);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_GLOBALSTORES_H
