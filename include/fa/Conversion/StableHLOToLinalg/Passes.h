//===- Passes.h - From StableHLO to linalg ----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_STABLEHLOTOLINALG_PASSES_H
#define FA_CONVERSION_STABLEHLOTOLINALG_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {

/// Replaces the operations of StableHLO, all of them unregistered, by ones of
/// linalg, tensor, arith, math, scf and cf. Calls are inlined first. Fails
/// after one diagnostic that names the operation which cannot be imported; the
/// module is then of no use.
///
/// The context has to have the dialects that the pass depends on.
LogicalResult importStableHLO(ModuleOp module);

#define GEN_PASS_DECL
#include "fa/Conversion/StableHLOToLinalg/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/StableHLOToLinalg/Passes.h.inc"

} // namespace mlir::fa

#endif // FA_CONVERSION_STABLEHLOTOLINALG_PASSES_H
