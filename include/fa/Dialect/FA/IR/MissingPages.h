//===- MissingPages.h - Keys in a page that is none -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_MISSINGPAGES_H
#define FA_DIALECT_FA_IR_MISSINGPAGES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/GPUPart.h"

namespace mlir::fa {

/// Whether rows of a block of keys are found in pages one by one: where it is
/// no part of a page, nor made of boxes of whole ones, of the rows of a
/// swizzle.
inline bool findsRows(int64_t pageRows, int64_t keyBlock) {
  constexpr int64_t rowsOfSwizzle = 8;
  if (ShapedType::isDynamic(pageRows) || pageRows <= 0)
    return true;
  bool isPart = pageRows % keyBlock == 0;
  bool isWhole = pageRows % rowsOfSwizzle == 0 && keyBlock % pageRows == 0;
  return !isPart && !isWhole;
}

/// Whether a block of keys may lie in any pages: groups of warps have a role
/// that copies rows of 16 bits from several.
inline bool joinsPages(const GPUPart &part, Type keys) {
  return part.hasGroups() &&
         getElementTypeOrSelf(keys).getIntOrFloatBitWidth() == 16;
}

/// Whether bulk copies give NaN for keys in a page that is none, which reaches
/// the results of all rows that see one, so that no thread has to look at a
/// table before it starts. A score function might lose it, and where the head
/// dim is no multiple of 16 it fills the columns behind it too.
inline bool copiesSpoilMissingPages(const GPUPart &part, Value keys,
                                    DimsAttr order, bool hasScore) {
  auto type = cast<ShapedType>(keys.getType());
  int64_t headDim = type.getDimSize(order.positionOf(DimKind::HeadDim));
  return joinsPages(part, type) && !hasScore && headDim % 16 == 0;
}

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_MISSINGPAGES_H
