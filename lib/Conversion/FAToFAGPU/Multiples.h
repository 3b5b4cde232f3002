//===- Multiples.h - Indices that are multiples -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_MULTIPLES_H
#define FA_LIB_CONVERSION_FATOFAGPU_MULTIPLES_H

#include "mlir/IR/Value.h"

namespace mlir::fa {

/// Whether an index is known to be a multiple of `factor`.
bool isMultipleOf(Value value, int64_t factor);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_MULTIPLES_H
