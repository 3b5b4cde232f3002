//===- VerifyPlanned.h - What the conversion needs of the plan --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_VERIFYPLANNED_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_VERIFYPLANNED_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fagpu {

/// Refuses what lacks a number that an earlier pass gives, with one diagnostic
/// that names the pass.
LogicalResult verifyPlanned(func::FuncOp kernel);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_VERIFYPLANNED_H
