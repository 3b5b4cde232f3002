//===- SumParts.h - Sums of parts of a function -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_SUMPARTS_H
#define FA_LIB_CONVERSION_FATOFAGPU_SUMPARTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::fa {

/// Whether an operation adds memory of f32, along dimensions in front of all
/// others, to the elements of its result.
bool isSumOfParts(linalg::GenericOp op);

/// Makes parallel loops of it, which add parts in their order.
LogicalResult tileSumOfParts(linalg::GenericOp op);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_SUMPARTS_H
