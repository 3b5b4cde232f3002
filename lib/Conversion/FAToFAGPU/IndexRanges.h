//===- IndexRanges.h - Numbers that a region computes -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_INDEXRANGES_H
#define FA_LIB_CONVERSION_FATOFAGPU_INDEXRANGES_H

#include "fa/Dialect/FA/IR/IntegerRanges.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Which indices of a score or mask region, of a kernel or of its launch take
/// 64 bits on a GPU. Batches and heads are indices of 32 bits, lengths that are
/// not known are below 2^30, and captured numbers any of their type.
class IndexRanges : public IntegerRanges {
public:
  IndexRanges() = default;
  IndexRanges(Value queries, Value keys);

  /// Of the arguments of a region, its batch, head, query and key, and of the
  /// sizes of what it captures.
  void setIndices(ValueRange indices);
  /// Of the sizes of memory in a function, and of slices of it.
  void setSizes(func::FuncOp function);

  /// Whether the value is none beyond these ends.
  bool isWithin(Value value, int64_t least, int64_t greatest) {
    return get(value).isWithin({least, greatest});
  }

  /// Whether the value is an integer of 32 bits with their sign.
  bool fits(Value value);
  /// Whether it is also none of the two ends of these.
  bool fitsInside(Value value);

  /// Whether an operation reads a number that may be below 0 as unsigned, which
  /// is then another one in 32 bits.
  bool readsNegativeAsUnsigned(Operation *op);
  /// Whether 32 bits give an operation another result than the 64 of an index.
  bool needsLong(Operation *op);

private:
  IntegerRange queries = IntegerRange::getOfPosition(),
               keys = IntegerRange::getOfPosition();
};

/// Computes on integers of 64 bits what an operation does on indices, and gives
/// an index again, or what else it makes: what is computed so stays of 64 bits.
Value createLong(OpBuilder &builder, Location loc, Operation *like,
                 ValueRange operands);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_INDEXRANGES_H
