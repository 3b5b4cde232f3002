//===- Extent.h - Sizes as polynomials --------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of tensors, static or not, in a form that tells which are equal: a
// polynomial with integer coefficients of sizes known at run time only.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_EXTENT_H
#define FA_LIB_CONVERSION_TOFA_EXTENT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include <functional>
#include <map>
#include <optional>

namespace mlir::fa {

/// A polynomial of the atoms of an `ExtentReader`.
class Extent {
public:
  /// Atoms of a product, sorted, with repetitions.
  using Monomial = std::vector<unsigned>;

  Extent() = default;
  Extent(int64_t number) { add({}, number); }
  static Extent getAtom(unsigned atom);

  bool isStatic() const;
  bool is(int64_t number) const { return isStatic() && getStatic() == number; }
  int64_t getStatic() const;
  /// The atom that this is, if it is one.
  std::optional<unsigned> getOneAtom() const;
  bool operator==(const Extent &other) const { return terms == other.terms; }

  Extent operator+(const Extent &other) const;
  Extent operator-(const Extent &other) const;
  Extent operator*(const Extent &other) const;
  /// The quotient, where every term is a multiple of the divisor's one term.
  std::optional<Extent> divideExactly(const Extent &divisor) const;

  const std::map<Monomial, int64_t> &getTerms() const { return terms; }

private:
  void add(const Monomial &monomial, int64_t coefficient);
  std::map<Monomial, int64_t> terms;
};

/// Reads sizes off the IR. Two values that compare equal are equal.
class ExtentReader {
public:
  Extent getDim(Value tensor, int64_t dim);
  /// Of an integer or index value.
  Extent getValue(Value value, unsigned depth = 0);
  /// Whether no coefficient is negative, and no atom: a size is none.
  bool isNonNegative(const Extent &extent) const;
  /// Of an i1, where it is known.
  std::optional<bool> getCondition(Value value, unsigned depth = 0);
  /// An index value, by arithmetic at the insertion point.
  Value materialize(OpBuilder &builder, Location loc, const Extent &extent);
  OpFoldResult materializeMixed(OpBuilder &builder, Location loc,
                                const Extent &extent);

  /// Takes sizes for equal that the operation has equal: what one loop
  /// iterates, what a dimension is expanded to, and operands of one shape.
  void takeForEqual(Operation *op);
  /// Evaluates the integer in an element of a tensor, where that is constant.
  using ReadElement =
      std::function<std::optional<int64_t>(Value, ArrayRef<int64_t>)>;
  void setReadElement(ReadElement function);

private:
  ReadElement readElement;
  Extent getAtom(Value value, int64_t dim);
  Extent setEqual(const Extent &first, const Extent &second);
  std::vector<std::pair<Value, int64_t>> atoms;
  Extent computeValue(Value value, unsigned depth);
  /// Of values that were asked for.
  DenseMap<Value, Extent> known;
  /// What an atom is equal to.
  std::map<unsigned, Extent> equals;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_EXTENT_H
