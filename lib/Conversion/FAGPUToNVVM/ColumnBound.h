//===- ColumnBound.h - Where the columns of a tile end ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_COLUMNBOUND_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_COLUMNBOUND_H

#include "Emitter.h"

namespace mlir::fagpu {

/// Which columns of a tile are in memory, by `columns(...)` and the tile's
/// offset in the last dimension. Columns are counted from the tile's first one.
class ColumnBound {
public:
  /// `columns` may be null: all columns are in memory. Of each `whole` columns
  /// from the offset on all are in memory, or none.
  ColumnBound(Value columns, Value offset, int64_t whole = 1);

  /// Whether it is known that columns `first` to `first + count - 1` are all in
  /// memory, or all past its end.
  bool holds(int64_t first, int64_t count) const;
  bool excludes(int64_t first) const;
  /// Whether memory is known to end between two pieces of `count` columns.
  bool isMultipleOf(int64_t count) const;

  /// How many columns there are from column `first` of the tile on, i32; may be
  /// negative.
  Value getLeft(Emitter &emit, Value first) const;

private:
  Value columns, offset;
  int64_t whole;
  std::optional<int64_t> known;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_COLUMNBOUND_H
