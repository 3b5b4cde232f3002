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

/// A rank-4 operand seen as (batch, sequence, heads, head dim), whatever the
/// order of its dimensions in memory.
struct OrderedOperand {
  Array *array;
  int64_t sizes[4];
  int64_t strides[4];

  OrderedOperand(Array &array, DimsAttr order) : array(&array) {
    for (int64_t kind = 0; kind < 4; ++kind) {
      int64_t position = order.positionOf(static_cast<DimKind>(kind));
      sizes[kind] = array.shape[position];
      strides[kind] = array.strides[position];
    }
  }

  int64_t getSize(DimKind kind) const {
    return sizes[static_cast<int64_t>(kind)];
  }
  /// The head dim of one (batch, sequence, head): its first element; the next
  /// ones follow at `getStep()`.
  Slot *getRow(int64_t batch, int64_t sequence, int64_t head) const {
    return array->storage->data() + array->offset + batch * strides[0] +
           sequence * strides[1] + head * strides[2];
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
