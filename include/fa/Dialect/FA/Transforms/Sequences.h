//===- Sequences.h - Tables and caches of sequences -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SEQUENCES_H
#define FA_DIALECT_FA_TRANSFORMS_SEQUENCES_H

#include "fa/Dialect/FA/IR/FASequence.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {

#define GEN_PASS_DECL
#include "fa/Dialect/FA/Transforms/SequencePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Dialect/FA/Transforms/SequencePasses.h.inc"

/// Replaces an append on memrefs by a parallel loop over blocks of new rows,
/// which the threads of a block share, as `fa-append-to-threads` does.
FailureOr<scf::ForallOp> appendToThreads(RewriterBase &rewriter, AppendOp op);

/// Gathers the pages of an attention on memrefs into pages that kernels copy,
/// as `fa-gather-pages` does.
void gatherPages(RewriterBase &rewriter, AttentionOp op);

/// Replaces a check of sequences on memrefs by a parallel loop over these, as
/// `fa-sequence-errors-to-loops` does.
FailureOr<scf::ForallOp> sequenceErrorsToLoops(RewriterBase &rewriter,
                                               SequenceErrorsOp op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SEQUENCES_H
