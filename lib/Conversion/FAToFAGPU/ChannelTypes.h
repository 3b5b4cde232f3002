//===- ChannelTypes.h - Channels that hold a tile ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_CHANNELTYPES_H
#define FA_LIB_CONVERSION_FATOFAGPU_CHANNELTYPES_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// The widest panels that fill the rows of a tile: the fewer, the longer the
/// pieces of a row in memory that threads copy together. A vector has none.
inline unsigned chooseSwizzle(RankedTensorType tile) {
  if (tile.getRank() == 1)
    return 0;
  int64_t rowBytes = tile.getShape().back() *
                     tile.getElementType().getIntOrFloatBitWidth() / 8;
  for (unsigned swizzle : {128, 64, 32})
    if (rowBytes % swizzle == 0)
      return swizzle;
  return 0;
}

/// A channel of `depth` stages of the tile, with panels that fill the rows of
/// `part` (null: of the tile).
inline fagpu::ChannelType makeChannelType(RankedTensorType tile, unsigned depth,
                                          RankedTensorType part = {}) {
  MLIRContext *context = tile.getContext();
  return fagpu::ChannelType::get(
      context, tile.getShape(), tile.getElementType(),
      fagpu::SharedLayoutAttr::get(context, chooseSwizzle(part ? part : tile)),
      depth);
}

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_CHANNELTYPES_H
