//===- PartOfValue.h - A part of a block value ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_PARTOFVALUE_H
#define FA_LIB_CONVERSION_FATOFAGPU_PARTOFVALUE_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// Computes a part of block values beside the whole ones: rows and columns of
/// a box whose place is known at run time.
class PartOfValue {
public:
  /// `offsets` are i32: the first row and the first column of the box.
  PartOfValue(ArrayRef<int64_t> shape, ArrayRef<Value> offsets)
      : shape(shape), offsets(offsets) {}

  /// The part of a value that elementwise operations make from indices, splats
  /// and gathers; null if something else takes part in it.
  Value get(Value value);

  ArrayRef<Value> getOffsets() const { return offsets; }

private:
  Value make(Value value);

  SmallVector<int64_t> shape;
  SmallVector<Value> offsets;
  llvm::DenseMap<Value, Value> known;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_PARTOFVALUE_H
