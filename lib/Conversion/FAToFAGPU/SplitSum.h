//===- SplitSum.h - Sums over parts of the columns --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_SPLITSUM_H
#define FA_LIB_CONVERSION_FATOFAGPU_SPLITSUM_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

/// Numbers the reads of parts, so that equal ones of two products stay two
/// until fagpu-share-operands gives them their turns.
inline constexpr StringLiteral readAttrName = "fagpu.read";

/// So many columns of the box from `first` on, which may be known to lie before
/// its bound.
Value fetchPart(OpBuilder &builder, FetchOp fetch, Value first, int64_t columns,
                bool isInside = false);

/// Makes a product that sums over many columns of fetched operands a sum of
/// products over `width` of them; with `isRolled` most of them in a loop. With
/// `keepsFirst` parts of the first operand are fetched where it was.
void splitSum(ProductOp product, int64_t width, bool isRolled, bool keepsFirst);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FATOFAGPU_SPLITSUM_H
