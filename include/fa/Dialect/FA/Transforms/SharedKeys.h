//===- SharedKeys.h - Keys that sequences share -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SHAREDKEYS_H
#define FA_DIALECT_FA_TRANSFORMS_SHAREDKEYS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {

#define GEN_PASS_DECL
#include "fa/Dialect/FA/Transforms/SharedKeyPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Dialect/FA/Transforms/SharedKeyPasses.h.inc"

/// On an attention: its queries are those of several sequences.
constexpr StringLiteral sharedKeysAttrName = "fa.shared_keys";

/// Makes an attention on memrefs, whose keys are the same for all of its batch,
/// one of a single sequence, as `fa-batch-shared-keys` does. Fails without a
/// change, and with a remark, where keys are not known to be or it has no form.
LogicalResult batchSharedKeys(RewriterBase &rewriter, AttentionOp op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SHAREDKEYS_H
