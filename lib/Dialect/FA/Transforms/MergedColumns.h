//===- MergedColumns.h - Head dims whose parts a GPU merges -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_MERGEDCOLUMNS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_MERGEDCOLUMNS_H

#include <cstdint>

namespace mlir::fa {

/// Columns of a row that a thread of a GPU merges: it holds a row of the sum
/// and one of a part. A head dim that no block of columns divides is a block.
inline constexpr int64_t mostMergedColumns = 192, leastMergedColumns = 16;

inline bool mergesOnGPU(int64_t headDim) {
  return headDim <= mostMergedColumns || headDim % leastMergedColumns == 0;
}

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_MERGEDCOLUMNS_H
