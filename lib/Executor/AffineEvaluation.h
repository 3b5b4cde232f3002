//===- AffineEvaluation.h - Values of affine expressions --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_AFFINEEVALUATION_H
#define FA_LIB_EXECUTOR_AFFINEEVALUATION_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/Support/LLVM.h"

namespace mlir::fa::executor {

/// The value of an expression, or failure for a division by a number below 1.
FailureOr<int64_t> evaluateAffine(AffineExpr expr, ArrayRef<int64_t> dims,
                                  ArrayRef<int64_t> symbols);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_AFFINEEVALUATION_H
