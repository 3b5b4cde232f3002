//===- IndexForm.h - Indices as linear forms --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An index of a tensor as a constant and a sum of multiples of variables. A
// reshape divides indices: where a quotient is no linear form, the variable in
// the way is to be split into two digits, and reading begins anew.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_INDEXFORM_H
#define FA_LIB_CONVERSION_TOFA_INDEXFORM_H

#include "Extent.h"

namespace mlir::fa {

struct IndexForm {
  /// Variables, sorted, with factors that are not 0.
  SmallVector<std::pair<unsigned, int64_t>, 4> terms;
  int64_t constant = 0;

  IndexForm() = default;
  IndexForm(int64_t number) : constant(number) {}
  bool isConstant() const { return terms.empty(); }
  /// The variable that this is, if it is one.
  std::optional<unsigned> getVariable() const;
  bool contains(unsigned variable) const;
  int64_t getFactor(unsigned variable) const;
  IndexForm operator+(const IndexForm &other) const;
  IndexForm operator*(int64_t factor) const;
  bool operator==(const IndexForm &other) const {
    return constant == other.constant && terms == other.terms;
  }
  /// This with a form in place of a variable.
  IndexForm replace(unsigned variable, const IndexForm &by) const;
};

/// The variables of one reading, which keep their numbers when it begins anew.
class Variables {
public:
  /// A new variable from 0 to below `extent`.
  unsigned make(const Extent &extent);
  /// The variable that the reductions of this size bind, the first one that
  /// none of the forms holds.
  unsigned getBound(const Extent &extent, ArrayRef<IndexForm> outside);
  const Extent &getExtent(unsigned variable) const {
    return entries[variable].extent;
  }
  /// The variable, or its digits.
  IndexForm getForm(unsigned variable) const;
  /// The digits that a variable is now, the highest first.
  SmallVector<unsigned> getDigits(unsigned variable) const;

  /// `form floordiv divisor`; nothing where a split is needed or none helps.
  std::optional<IndexForm> divide(const IndexForm &form, int64_t divisor);
  /// Whether a variable is to be split for the reading to go further.
  bool wantsSplit() const { return pending.has_value(); }
  /// Splits it.
  bool split();
  /// Least and greatest value; nothing where it depends on a dynamic size.
  std::optional<std::pair<int64_t, int64_t>>
  getRange(const IndexForm &form) const;

private:
  struct Entry {
    Extent extent;
    /// The variable is `low size * high + low`.
    std::optional<std::pair<unsigned, unsigned>> digits;
  };
  std::vector<Entry> entries;
  /// Variables that reductions bind.
  std::vector<unsigned> bound;
  std::optional<std::pair<unsigned, int64_t>> pending;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_INDEXFORM_H
