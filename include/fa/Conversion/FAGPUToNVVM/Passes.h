//===- Passes.h - From the fagpu dialect to NVVM ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FAGPUTONVVM_PASSES_H
#define FA_CONVERSION_FAGPUTONVVM_PASSES_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fagpu {

/// Whether a scalar or elementwise operation is none of math, or one that the
/// device has instructions for or fagpu-expand-math expresses.
bool isExpressedOnDevice(Operation *op);

/// The error of fagpu-expand-math for an operation that is not.
InFlightDiagnostic emitNotOnDevice(Operation *op);

/// Fails with a diagnostic for an operation on block values with layouts that
/// convert-fagpu-to-nvvm does not lower.
LogicalResult verifyBlockOperation(Operation *op);

/// Fails with a diagnostic for what convert-fagpu-to-nvvm and the passes behind
/// it do not lower in a kernel that has its layouts, whatever its plan. Calls
/// count as lowered: they are inlined before.
LogicalResult verifyHasLowering(func::FuncOp kernel);

#define GEN_PASS_DECL
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"

} // namespace mlir::fagpu

#endif // FA_CONVERSION_FAGPUTONVVM_PASSES_H
