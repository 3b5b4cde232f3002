//===- ShortSpellings.h - Common masks and score functions ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Builders of the bodies that the short spellings of `fa.attention` stand for.
// Each appends scalar operations at the builder's insertion point, which is
// inside a score or mask region. Formulas: see the description of
// `fa.attention`.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_SHORTSPELLINGS_H
#define FA_DIALECT_FA_IR_SHORTSPELLINGS_H

#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// The absolute indices of one (query, key) pair, all of index type.
struct PairIndices {
  Value batch, head, query, key;
};

/// How a causal mask is aligned where queries and keys differ in number.
enum class CausalAlignment { BottomRight, TopLeft };

/// i1: the key is not after the query.
Value buildCausalMask(OpBuilder &builder, Location loc, PairIndices pair,
                      CausalAlignment alignment);

/// i1: the key is at most `left` before and `right` after the query; both are
/// index values, negative for unlimited.
Value buildWindowMask(OpBuilder &builder, Location loc, PairIndices pair,
                      Value left, Value right);

/// i1: causal, or the key is below `prefix` (index, or i32 of shape batch).
Value buildPrefixMask(OpBuilder &builder, Location loc, PairIndices pair,
                      Value prefix);

/// i1: query and key carry the same id; tables are i32 of shape batch x
/// positions.
Value buildDocumentMask(OpBuilder &builder, Location loc, PairIndices pair,
                        Value queryIds, Value keyIds);

/// f32: `cap * tanh(score / cap)`.
Value buildSoftcapScore(OpBuilder &builder, Location loc, Value score,
                        Value cap);

/// f32: the same with a `tanh` that a target may approximate, and products that
/// it may take together.
Value buildApproximateSoftcapScore(OpBuilder &builder, Location loc,
                                   Value score, Value cap);

/// f32: score minus slope times distance; slopes are f32 of shape heads or
/// batch x heads.
Value buildAlibiScore(OpBuilder &builder, Location loc, Value score,
                      PairIndices pair, Value slopes);

/// f32: score plus `bias` (rank 4, a static size of 1 broadcasts).
Value buildBiasScore(OpBuilder &builder, Location loc, Value score,
                     PairIndices pair, Value bias);

/// Reads an element of a captured tensor or memref.
Value buildCapturedLoad(OpBuilder &builder, Location loc, Value capture,
                        ValueRange indices);

/// The same where nothing is known of the indices: out of bounds, it reads 0.
Value buildGuardedLoad(OpBuilder &builder, Location loc, Value capture,
                       ValueRange indices);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_SHORTSPELLINGS_H
