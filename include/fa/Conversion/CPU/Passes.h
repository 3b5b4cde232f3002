//===- Passes.h - From linalg to CPU code -*- C++ -*- ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// These passes know nothing about attention: they take linalg operations on
// memrefs in parallel loops, whoever made them.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_CPU_PASSES_H
#define FA_CONVERSION_CPU_PASSES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {

/// On operations of a block: the register tile (`#fa.cpu`) of their loops.
inline constexpr StringLiteral registerTileName = "fa.register_tile";

/// On allocations that were there before blocks are bufferized: no scratch.
inline constexpr StringLiteral programMemoryName = "fa.program_memory";

/// Replaces `op`, a linalg operation on memrefs, by loops over register tiles.
/// The tile is that of its attribute `fa.register_tile`, else `defaultTile`.
/// Fails after a diagnostic where operands are tensors or indexed by anything
/// but loops and constants.
LogicalResult vectorizeLanes(RewriterBase &rewriter, linalg::LinalgOp op,
                             CPUConfigAttr defaultTile);

/// exp, exp2, log and tanh of f32 scalars and vectors in arithmetic, and
/// operations that a few others express.
void populateExpandMathPatterns(RewritePatternSet &patterns);

#define GEN_PASS_DECL
#include "fa/Conversion/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/CPU/Passes.h.inc"

} // namespace mlir::fa

#endif // FA_CONVERSION_CPU_PASSES_H
