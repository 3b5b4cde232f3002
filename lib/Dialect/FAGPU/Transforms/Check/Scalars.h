//===- Scalars.h - Scalars of an execution of a skeleton --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_SCALARS_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_SCALARS_H

#include "mlir/IR/Operation.h"
#include <array>

namespace mlir::fagpu {

/// How a scalar operation is evaluated: found once, as it is done often.
struct ScalarRule {
  explicit ScalarRule(Operation *op);
  ScalarRule() = default;

  enum { Picked, Integer, Quotient, FloatComparison } kind = Picked;
  /// Bits of an integer result.
  unsigned width = 64;
};

/// The value of an integer of so many bits; a bit is 0 or 1.
int64_t wrapInteger(unsigned width, int64_t value);

/// Gives the kernel's arguments and what it loads from memory values, the same
/// wherever the same is read.
class ScalarInputs {
public:
  /// What is read falls into so many classes, each with a seed of its own.
  static constexpr unsigned numClasses = 16;
  using Seeds = std::array<uint64_t, numClasses>;

  /// Integers are picked from counts and lengths.
  ScalarInputs(ArrayRef<int64_t> counts, ArrayRef<int64_t> lengths,
               const Seeds &seeds)
      : counts(counts), lengths(lengths), seeds(seeds) {}

  /// A value of the given type for what has this key.
  int64_t pick(Type type, uint64_t key) const;

  /// The result of a scalar operation: integers are computed, anything else is
  /// picked by the operation's name and operands. None where the operation has
  /// no value, as a division by zero.
  std::optional<int64_t> evaluate(Operation *op, unsigned result,
                                  ArrayRef<int64_t> operands,
                                  ScalarRule rule) const;

private:
  ArrayRef<int64_t> counts, lengths;
  Seeds seeds;
};

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_SCALARS_H
