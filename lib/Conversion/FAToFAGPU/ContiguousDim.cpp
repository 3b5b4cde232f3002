//===- ContiguousDim.cpp - Elements that lie beside each other -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContiguousDim.h"

using namespace mlir;

std::optional<int64_t> fa::getContiguousDim(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (int64_t dim = strides.size() - 1; dim >= 0; --dim)
    if (strides[dim] == 1)
      return dim;
  return std::nullopt;
}
