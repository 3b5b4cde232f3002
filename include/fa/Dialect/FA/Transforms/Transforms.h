//===- Transforms.h - Transformations of the fa dialect ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The free functions behind the passes. Each fails without changing the IR,
// after one diagnostic, unless its comment says otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_TRANSFORMS_H
#define FA_DIALECT_FA_TRANSFORMS_TRANSFORMS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

class Target;

/// Registers the interface implementations (bounds of sizes, bufferization)
/// that the functions below read; passes do so themselves.
void registerTransformDependencies(DialectRegistry &registry);

/// Gives an attention the configuration that the target's tables hold for it,
/// or checks the one that it has, as `fa-select-config` does.
LogicalResult selectConfig(AttentionOp op, const Target &target);
LogicalResult selectConfig(AttentionGradientOp op, const Target &target);

/// Turns the tensors of a function into memrefs: arguments in place, results
/// into new trailing arguments, as `fa-results-to-out-parameters` does. Leaves
/// declarations and functions without tensors alone. A failure after the
/// checks of the signature leaves a function that is no longer valid.
LogicalResult convertResultsToOutParameters(RewriterBase &rewriter,
                                            func::FuncOp function);

/// How a user gets rid of an operation that nothing here lowers: the end of an
/// error, by the dialect of the operation.
StringRef suggestLowering(Operation *op);

/// Replaces an attention, or a gradient, whose config has longer ones by one
/// for each of them, of which the number of keys chooses, as
/// `fa-version-lengths` does.
void versionLengths(RewriterBase &rewriter, AttentionOp op);
void versionLengths(RewriterBase &rewriter, AttentionGradientOp op);

/// Fails after one error where the config has longer ones.
LogicalResult verifyForAnyKeys(AttentionOp op);
LogicalResult verifyForAnyKeys(AttentionGradientOp op);

/// Splits the keys of an attention by the `key_splits` (at least 2) of its
/// config, as `fa-split-kv` does. Returns the loop over the parts.
FailureOr<scf::ForallOp> splitKeys(RewriterBase &rewriter, AttentionOp op);

/// Fails after one error where the keys of an attention with a config are still
/// to be split.
LogicalResult verifyIsNotSplit(AttentionOp op);

/// Whether an attention with a config is one query block: one batch, one head
/// and, proven from the IR, at most `query_block` queries.
bool isQueryBlockTile(AttentionOp op);

/// Replaces an attention with a config by a loop over (batch, query head,
/// query block) around an attention of one query block, as `fa-tile` does.
FailureOr<scf::ForallOp> tileAttention(RewriterBase &rewriter, AttentionOp op);

/// Replaces a merge by a loop over (batch, head, block of `rows` queries)
/// around a merge of one block, as `fa-tile` does.
FailureOr<scf::ForallOp> tileCombine(RewriterBase &rewriter, CombineOp op,
                                     int64_t rows);

/// Replaces an attention of one batch and one head by a state, one
/// `fa.online_attention` over the valid keys, and `fa.finalize`, as
/// `fa-convert-to-online` does.
FailureOr<FinalizeOp> convertToOnline(RewriterBase &rewriter, AttentionOp op);

/// Replaces a step over all keys, with a config and its state as tensors, by
/// `fa.key_ranges` over the key blocks that its mask leaves, as
/// `fa-specialize-mask` does.
/// @{
FailureOr<KeyRangesOp> specializeMask(RewriterBase &rewriter,
                                      OnlineAttentionOp op);
FailureOr<KeyRangesOp> specializeMask(RewriterBase &rewriter,
                                      GradientQueriesOp op);
/// The same over the query blocks: `fa.query_ranges`.
FailureOr<QueryRangesOp> specializeMask(RewriterBase &rewriter,
                                        GradientKeysOp op);
/// @}

/// Replaces an append on memrefs by a parallel loop over new rows, as
/// `fa-append-to-loops` does.
FailureOr<scf::ForallOp> appendToLoops(RewriterBase &rewriter, AppendOp op);

/// Replaces the gradient of a whole problem, on memory and with a config, by
/// parallel loops over its blocks, as `fa-tile-gradient` does.
LogicalResult tileGradient(RewriterBase &rewriter, AttentionGradientOp op);

/// Makes the gradient of a function on tensors, as `fa-differentiate` does.
FailureOr<func::FuncOp> differentiateFunction(func::FuncOp function);

/// Derives the region `score_gradient` of a gradient whose score has none, as
/// `fa-differentiate-score` does.
LogicalResult differentiateScore(RewriterBase &rewriter,
                                 AttentionGradientOp op);

/// Replaces an attention by a loop over batches and heads that materialises
/// the scores of each head, as `fa-naive` does.
FailureOr<scf::ForallOp> expandNaively(RewriterBase &rewriter, AttentionOp op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_TRANSFORMS_H
