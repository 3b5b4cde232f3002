//===- EmptyKernels.h - Kernels of functions over nothing -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_EMPTYKERNELS_H
#define FA_LIB_CONVERSION_FATOFAGPU_EMPTYKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// Whether a function computes nothing since memory that it is given has no
/// elements.
bool isOverNothing(func::FuncOp function);

/// Adds a kernel that does nothing and a launch of no blocks of it, so that
/// there is a schedule of a function that computes nothing.
void launchNothing(func::FuncOp function, StringRef chip, int64_t warps,
                   SymbolTable &symbols);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_EMPTYKERNELS_H
