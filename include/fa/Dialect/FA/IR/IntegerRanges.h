//===- IntegerRanges.h - How large integers can be --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Intervals of integers: those of a score or mask region, of a kernel or of its
// launch. Arithmetic of fewer than 64 bits wraps; indices and integers of 64
// bits do not leave their type, by what the semantics demand of a mask.
//
// Source of the arithmetic: Moore, Interval Analysis, 1966.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_INTEGERRANGES_H
#define FA_DIALECT_FA_IR_INTEGERRANGES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mlir::fa {

/// Past every index, and with room for the sums of a few such numbers.
constexpr int64_t beyondIndices = int64_t(1) << 61;

/// The bits of an integer type, 64 of an index.
unsigned getIntegerWidth(Type type);

/// The least and the greatest number that an integer can be, read as signed. A
/// least number of -2^61 stands for any number below, too, and a greatest one
/// of 2^61 for any above.
struct IntegerRange {
  int64_t least, greatest;

  /// All numbers of a type.
  static IntegerRange getAll(Type type);
  /// Numbers of a type whose opposites it has, too: all of them up to 61 bits.
  static IntegerRange getSymmetric(Type type);
  /// Of an index of a pair, a batch, a head or a length.
  static IntegerRange getOfPosition();
  static IntegerRange getOne(int64_t number);

  bool isNonNegative() const { return least >= 0; }
  /// Whether both ends are known.
  bool isBounded() const;
  /// The only number there is; nothing where there are several.
  std::optional<int64_t> getNumber() const;
  bool isWithin(const IntegerRange &other) const {
    return least >= other.least && greatest <= other.greatest;
  }
  /// Adds `factor * other`.
  IntegerRange &add(const IntegerRange &other, int64_t factor = 1);
};

/// Ranges of scalar values, each computed once from those of its operands.
class IntegerRanges {
public:
  /// Of values of which only what `set` says is known.
  IntegerRanges() = default;
  /// Of a region of which four arguments are positions: the batch is argument
  /// `firstPosition`.
  explicit IntegerRanges(unsigned firstPosition)
      : firstPosition(firstPosition) {}

  /// Says what a value lies between, before what depends on it is asked for.
  void set(Value value, IntegerRange range) {
    known.insert_or_assign(value, range);
  }
  /// What fa.query_length and fa.key_length lie between.
  void setLengths(IntegerRange queries, IntegerRange keys) {
    queryLength = queries;
    keyLength = keys;
  }

  IntegerRange get(Value value);
  /// Whether a sum, a difference or a product may leave its type.
  bool mayWrap(Operation *op);

private:
  IntegerRange compute(Value value);
  IntegerRange computeResult(OpResult result);

  std::optional<unsigned> firstPosition;
  IntegerRange queryLength = IntegerRange::getOfPosition(),
               keyLength = IntegerRange::getOfPosition();
  DenseMap<Value, IntegerRange> known;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_INTEGERRANGES_H
