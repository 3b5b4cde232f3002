//===- OrderedOperand.h - Operands in (b, s, h, d) order --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_ORDEREDOPERAND_H
#define FA_LIB_EXECUTOR_ORDEREDOPERAND_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Executor/Value.h"

namespace mlir::fa::executor {

/// An operand seen as (batch, sequence, heads, head dim), whatever the order of
/// its dimensions in memory, and wherever the rows of a sequence are: in a
/// batch, behind `starts`, or in `pages`.
struct OrderedOperand {
  Array *array;
  /// By DimKind; of a dimension that the operand does not have, 1 and 0.
  int64_t sizes[5] = {1, 1, 1, 1, 1};
  int64_t strides[5] = {0, 0, 0, 0, 0};
  const Array *starts = nullptr, *pages = nullptr;

  OrderedOperand(Array &array, DimsAttr order) : array(&array) {
    for (auto [position, kind] : llvm::enumerate(order.getOrder())) {
      sizes[kind] = array.shape[position];
      strides[kind] = array.strides[position];
    }
  }

  int64_t getSize(DimKind kind) const {
    return sizes[static_cast<int64_t>(kind)];
  }
  int64_t getStride(DimKind kind) const {
    return strides[static_cast<int64_t>(kind)];
  }
  /// An element of a table of i32.
  static int64_t getEntry(const Array &table, int64_t row, int64_t column = 0) {
    int64_t place = table.offset + row * table.strides[0];
    if (table.shape.size() > 1)
      place += column * table.strides[1];
    return table.storage->data()[place].integer;
  }
  /// The head dim of one (batch, sequence, head): its first element; the next
  /// ones follow at `getStep()`.
  Slot *getRow(int64_t batch, int64_t sequence, int64_t head) const {
    int64_t page = 0;
    if (starts)
      sequence += getEntry(*starts, batch);
    if (pages) {
      page = getEntry(*pages, batch, sequence / sizes[1]);
      sequence %= sizes[1];
    }
    return array->storage->data() + array->offset + batch * strides[0] +
           sequence * strides[1] + head * strides[2] +
           page * getStride(DimKind::Page);
  }
  int64_t getStep() const { return strides[3]; }

  void read(int64_t batch, int64_t sequence, int64_t head,
            double *target) const {
    const Slot *row = getRow(batch, sequence, head);
    for (int64_t i = 0; i < sizes[3]; ++i)
      target[i] = row[i * getStep()].real;
  }
};

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_ORDEREDOPERAND_H
