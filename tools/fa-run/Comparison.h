//===- Comparison.h - Errors of results against the reference ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_COMPARISON_H
#define FA_TOOLS_FA_RUN_COMPARISON_H

#include "fa/Driver/HostBuffer.h"

namespace mlir::fa {

/// What an error is measured by.
enum class ErrorMeasure {
  /// Norm of the difference over the norm of the reference; the norm of the
  /// difference where the reference is zero.
  Relative,
  /// The largest difference, as for a log-sum-exp.
  Largest,
  /// Integers: equality.
  Exact,
};

struct ErrorBound {
  ErrorMeasure measure = ErrorMeasure::Relative;
  double limit = 0;
};

/// The bound of an output of this type in a function whose narrowest float
/// operand is `narrowest`. Rank-3 f32 outputs next to a rank-4 one are lse.
/// `keepsSingle`: nothing but outputs is rounded to less than f32.
ErrorBound getDefaultBound(Type type, bool isLse, Type narrowest,
                           bool keepsSingle);

/// The bound of a gradient. It reads results of the forward in their own type,
/// and sums over queries and over keys.
ErrorBound getGradientBound(Type type, Type narrowest);

struct Comparison {
  ErrorBound bound;
  int64_t numCompared = 0;
  /// Those that are finite in both, and those where the reference is NaN.
  int64_t numFinite = 0;
  int64_t numNaN = 0;
  /// Over the elements where both are finite.
  double relative = 0;
  double largest = 0;
  /// Elements where NaN or infinity, or an integer, differ; the first of them.
  int64_t numMismatches = 0;
  int64_t firstMismatch = -1;
  std::string mismatch;

  /// The error that the bound is about.
  double getError() const;
  /// Whether the reference is NaN everywhere, so that nothing was verified.
  bool isMeaningless() const;
  bool passed() const;
};

/// Compares an output with the reference's, on all elements or on those listed.
/// Where `spoiled` is NaN (null: nowhere) the output may be too.
Comparison compare(const HostBuffer &actual,
                   const executor::RuntimeValue &reference, ErrorBound bound,
                   const std::vector<int64_t> *elements,
                   const executor::RuntimeValue *spoiled = nullptr);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_COMPARISON_H
