//===- IndexWidths.h - Which indices fit 32 bits ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_INDEXWIDTHS_H
#define FA_LIB_CONVERSION_FATOFAGPU_INDEXWIDTHS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::fa {

/// Follows how large scalar integers of a kernel can be. Sizes, indices of
/// blocks and small constants are *short*: sums of a few of them fit 32 bits.
/// What is captured or loaded from memory as i32 fits, but a sum with it need
/// not. 64-bit arguments, what is computed in i64, products that are not marked
/// `nsw` and large constants need not fit at all, until `min` and `max` bound
/// them.
class IndexWidths {
public:
  /// Sums of two numbers up to this, and of lengths up to it, fit 32 bits.
  static constexpr int64_t shortLimit = int64_t(1) << 30;

  /// Whether the value fits 32 bits with its sign.
  bool fits(Value value) {
    Bounds bounds = get(value);
    return bounds.low != Width::Long && bounds.high != Width::Long;
  }
  /// Whether sums of a few such values do too.
  bool isShort(Value value) {
    Bounds bounds = get(value);
    return bounds.low == Width::Short && bounds.high == Width::Short;
  }

private:
  enum class Width { Long, Fits, Short };
  /// How far a value goes below and above zero.
  struct Bounds {
    Width low, high;
  };

  Bounds get(Value value);
  static Width getWidth(BlockArgument argument);
  Bounds compute(Value value);
  Bounds computeResult(Operation *op, unsigned number);

  DenseMap<Value, Bounds> known;
};

/// The product of two short numbers that is known to be short, as the number of
/// tiles of a grid is, or a number of blocks times their size: it is marked by
/// `nsw`.
Value multiplyShort(OpBuilder &builder, Location loc, Value a, Value b);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_INDEXWIDTHS_H
