//===- Passes.h - From other dialects to fa ------------------*- C++ -*----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TOFA_PASSES_H
#define FA_CONVERSION_TOFA_PASSES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {

/// What raising may assume of rows that see no key.
enum class RaisedMasks {
  /// Nothing: such a row gives what the source gives.
  Exact,
  /// Each row sees a key, and a score of -1e4 or less hides its key.
  AssumeVisible
};

/// What may change when attention is raised; see `fa-raise-attention`.
struct RaiseAttentionOptions {
  /// Roundings of scores and of their softmax to f16 or bf16 are dropped.
  bool excessPrecision = true;
  RaisedMasks masks = RaisedMasks::Exact;
};

/// Turns each softmax(Q K) V on tensors inside `op` into `fa.attention`, and
/// says in a remark which operation kept a near miss from it. Returns the
/// number of attentions made.
int64_t raiseAttention(Operation *op,
                       const RaiseAttentionOptions &options = {});

#define GEN_PASS_DECL
#include "fa/Conversion/ToFA/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/ToFA/Passes.h.inc"

} // namespace mlir::fa

#endif // FA_CONVERSION_TOFA_PASSES_H
