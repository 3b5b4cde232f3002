//===- SeparateFactors.h - Factors of a product as tensors ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_SEPARATEFACTORS_H
#define FA_LIB_CONVERSION_TOFA_SEPARATEFACTORS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::fa {

/// The same product, of two tensors, where its body computes a factor from
/// several; null for other products. The old one stays.
linalg::GenericOp separateFactors(linalg::LinalgOp product);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_SEPARATEFACTORS_H
