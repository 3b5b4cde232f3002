//===- RealRange.h - What real numbers lie between --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_REALRANGE_H
#define FA_LIB_CONVERSION_FATOFAGPU_REALRANGE_H

#include "mlir/IR/Value.h"

namespace mlir::fa {

/// Numbers from `least` to `greatest`; infinite where no bound is known. That a
/// value may be no number is not said.
struct RealRange {
  double least, greatest;

  /// The largest distance from 0.
  double getSize() const;
};

/// What is known of a real number, or of every element of a block, by the
/// operations that make it.
RealRange getRealRange(Value value);

/// Whether a real scalar is known to be no negative number.
bool isNonNegative(Value value);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_REALRANGE_H
