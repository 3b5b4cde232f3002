//===- TileSequences.h - Blocks of packed and paged sequences ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_TILESEQUENCES_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_TILESEQUENCES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Replaces attention on packed sequences or pages by a parallel loop over
/// (batch, head, query block) around attention on views of one sequence.
FailureOr<scf::ForallOp> tileSequences(RewriterBase &rewriter, AttentionOp op);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_TILESEQUENCES_H
