//===- LoopSizes.h - What is known of a size of a loop ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_CPU_LOOPSIZES_H
#define FA_LIB_CONVERSION_CPU_LOOPSIZES_H

#include "mlir/IR/Value.h"

namespace mlir::fa {

/// A number that a dynamic size is a multiple of, be it that of a view; 1 where
/// nothing is known.
int64_t getDivisor(Value size);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_CPU_LOOPSIZES_H
