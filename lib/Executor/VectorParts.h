//===- VectorParts.h - Pieces of the vector semantics -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_VECTORPARTS_H
#define FA_LIB_EXECUTOR_VECTORPARTS_H

#include "fa/Executor/Semantics.h"

namespace mlir::fa::executor {

void addVectorArithmetic(Semantics &semantics);
void addVectorMemory(Semantics &semantics);

/// Calls `body(index)` for every index of a shape in row-major order.
template <typename Fn> void forEachIndex(ArrayRef<int64_t> shape, Fn body) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t, 6> index(shape.size(), 0);
  while (true) {
    body(ArrayRef<int64_t>(index));
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    for (; dim >= 0; --dim) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

inline int64_t getLinearOffset(ArrayRef<int64_t> index,
                               ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset += index[i] * strides[i];
  return offset;
}

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_VECTORPARTS_H
