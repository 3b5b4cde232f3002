//===- MathIdentities.h - Operations of math by simpler ones ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_MATH_MATHIDENTITIES_H
#define FA_CONVERSION_MATH_MATHIDENTITIES_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Operations that a few others express, on scalars and vectors of any float
/// or integer type:
///
/// | operation | becomes |
/// |---|---|
/// | `math.clampf` | `maximumf`, then `minimumf`, so NaN stays NaN |
/// | `math.isnan`, `isinf`, `isfinite`, `isnormal` | comparisons of the size |
/// | `math.sincos` | `math.sin` and `math.cos` |
/// | `math.ipowi` | products, modulo 2^width; 0, 1, -1 by a negative power |
/// | `math.fpowi` with a constant from 0 to 8 | products, within 4 ulp |
///
/// An `ipowi` whose exponent is no constant is a product and a `select` for
/// each bit of the exponent.
void populateMathIdentityPatterns(RewritePatternSet &patterns);

} // namespace mlir::fa

#endif // FA_CONVERSION_MATH_MATHIDENTITIES_H
