//===- Coverage.h - Whether rows see each of their keys once ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_COVERAGE_H
#define FA_TOOLS_FA_RUN_COVERAGE_H

#include "Reference.h"
#include <map>

namespace mlir::fa {

/// How often the rows of one attention see each of their keys.
///
/// Values that are 1 in one row and column and 0 elsewhere make an output the
/// weight of one key. Weights times exp(lse) do not depend on other keys, so
/// their ratio to those of the float64 evaluation is how often a key was seen.
/// A run of the function shows as many keys as the head dim of the values.
class Coverage {
public:
  /// `output` and `lse` are the numbers of the outputs that the attention
  /// writes, `values` that of the argument it reads values from.
  Coverage(AttentionOp op, unsigned values, unsigned output, unsigned lse,
           ArrayRef<int64_t> valueShape);

  int64_t countRuns() const;
  /// The values of a run, and queries of 0, so that few weights are small. What
  /// is NaN, which no row may read, stays.
  void setInputs(MutableArrayRef<HostBuffer> inputs, int64_t run) const;
  void compare(int64_t run, ArrayRef<const HostBuffer *> found,
               const Evaluation &expected);

  bool passed() const {
    return faults.empty() && numPairs > 0 && numUndecided == 0;
  }
  void print(raw_ostream &stream) const;

  const unsigned values, output, lse;
  int64_t numPairs = 0;
  /// Pairs of weights too small to tell.
  int64_t numUndecided = 0;
  /// By batch, head and query: rows of keys that were not seen once, in order,
  /// and how often they were.
  std::map<std::array<int64_t, 3>, std::map<int64_t, int64_t>> faults;

private:
  /// The row of an element among all rows that a sequence may see, and its
  /// column.
  std::pair<int64_t, int64_t> findElement(int64_t element) const;
  std::string describeKeys(int64_t first, int64_t last) const;

  /// Its accessors are not const.
  mutable AttentionOp op;
  SmallVector<int64_t> valueShape;
  int64_t numRows, headDim;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_COVERAGE_H
