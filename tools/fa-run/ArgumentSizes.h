//===- ArgumentSizes.h - Sizes that arguments share -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_ARGUMENTSIZES_H
#define FA_TOOLS_FA_RUN_ARGUMENTSIZES_H

#include "fa/Driver/HostBuffer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// Checks dims of arguments that the attentions and gradients of `function`
/// need equal, and query heads against key heads: compiled code does not. The
/// first that is wrong is an error.
llvm::Error checkSizes(func::FuncOp function, ArrayRef<HostBuffer> arguments);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_ARGUMENTSIZES_H
