//===- VerifyLowered.h - What the conversion can lower ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_VERIFYLOWERED_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_VERIFYLOWERED_H

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fagpu {

/// Refuses what no pattern lowers, with one diagnostic that says what is.
LogicalResult verifyLowered(func::FuncOp kernel);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_VERIFYLOWERED_H
