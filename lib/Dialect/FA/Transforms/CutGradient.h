//===- CutGradient.h - Gradients of packed sequences ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_CUTGRADIENT_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_CUTGRADIENT_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Replaces the gradient of packed sequences, on memrefs, by a loop over the
/// gradients of each, and returns the one in the loop.
AttentionGradientOp cutGradient(RewriterBase &rewriter, AttentionGradientOp op);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_CUTGRADIENT_H
