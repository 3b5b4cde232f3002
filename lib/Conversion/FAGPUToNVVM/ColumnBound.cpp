//===- ColumnBound.cpp - Where the columns of a tile end ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnBound.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fagpu;

ColumnBound::ColumnBound(Value columns, Value offset, int64_t whole)
    : columns(columns), offset(offset), whole(whole) {
  APInt end, start;
  if (columns && matchPattern(columns, m_ConstantInt(&end)) &&
      matchPattern(offset, m_ConstantInt(&start)))
    known = end.getSExtValue() - start.getSExtValue();
}

bool ColumnBound::holds(int64_t first, int64_t count) const {
  return !columns || (known && first + count <= *known);
}

bool ColumnBound::excludes(int64_t first) const {
  return columns && known && first >= *known;
}

bool ColumnBound::isMultipleOf(int64_t count) const {
  return !columns || whole % count == 0 || (known && *known % count == 0);
}

Value ColumnBound::getLeft(Emitter &emit, Value first) const {
  Value end = known ? emit.constant(*known) : emit.subtract(columns, offset);
  return emit.subtract(end, first);
}
