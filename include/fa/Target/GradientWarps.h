//===- GradientWarps.h - Warps of gradients ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_GRADIENTWARPS_H
#define FA_TARGET_GRADIENTWARPS_H

#include <algorithm>
#include <cstdint>

namespace mlir::fa {

/// Warps of a block of keys in `one_pass` of the form `warps`: each has 32 rows
/// where a step takes at most 32 queries, else 16, so that a thread holds at
/// most 32 scores.
inline int64_t getWarpsOfOnePass(int64_t keys, int64_t queries) {
  return std::max<int64_t>(keys / (queries > 32 ? 16 : 32), 4);
}

/// Warps of a block in the other forms: two where it has 32 queries and 32
/// keys, else four.
inline int64_t getWarpsOfPasses(int64_t queries, int64_t keys) {
  return std::max(queries, keys) > 32 ? 4 : 2;
}

} // namespace mlir::fa

#endif // FA_TARGET_GRADIENTWARPS_H
