//===- KeyRangeAnalysis.h - Keys that a block of queries sees ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// For a block of consecutive queries of one batch and one head, the ordered
// ranges of keys outside which the mask hides every key, and inside which of
// them it hides none.
//
// Method: a condition `a * key + r(query) <= 0` bounds the key from one side.
// Over the block, r takes its extremes at the first or the last query, as its
// terms are monotonic in the query: the weaker bound holds what some query of
// the block sees (the visible hull), the stronger one what every query sees
// (the full part). `and` intersects both; `or` keeps up to two pieces apart.
// Everything is closed form arithmetic over sizes known at run time.
//
// The same holds with queries and keys exchanged: ranges of queries that see a
// block of keys.
//
//===----------------------------------------------------------------------===//

#ifndef FA_ANALYSIS_KEYRANGEANALYSIS_H
#define FA_ANALYSIS_KEYRANGEANALYSIS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// A block of queries and the keys it is computed against; all of type index.
/// Where queries are visited: a block of keys and the queries that may see it,
/// with keys where this says queries and the other way round.
struct QueryBlockPlace {
  Value batch, head;
  /// The first query of the block, absolute, and the number of queries. A
  /// block without queries sees nothing.
  Value firstQuery, numQueries;
  /// The first key, absolute, and the number of keys from there on.
  Value firstKey, numKeys;
  /// Of the problem, whatever is visited: what fa.query_length and
  /// fa.key_length stand for in the region.
  Value queryLength, keyLength;
  /// What the arguments of the region after the fourth stand for.
  ValueRange captures;
  /// Whether the block is known to have queries, so that no range depends on
  /// their number alone.
  bool hasQueries = false;
  /// Whether ranges begin at multiples of the step, from the first key on.
  bool isAligned = false;
  /// Whether a step of full ranges may have less than a whole block of what is
  /// visited, at the end: what lies behind that needs no mask.
  bool isRestFull = false;
};

/// Keys from `begin` to before `end`, counted from the block's first key.
struct KeyRange {
  Value begin, end;
  /// Every query sees every key, and the length is a multiple of the step, but
  /// where the rest is full.
  bool full;
};

/// Analyses a mask region once; computes ranges for any number of blocks.
class KeyRangeAnalysis {
public:
  explicit KeyRangeAnalysis(Region &mask,
                            VisitedIndex visited = VisitedIndex::Key)
      : region(mask), normalizer(mask, visited) {}

  const MaskExpression &getExpression() const {
    return normalizer.getExpression();
  }
  ArrayRef<MaskObstacle> getObstacles() const {
    return normalizer.getObstacles();
  }

  /// Creates the arithmetic that computes the ranges at the builder's
  /// insertion point. At most KeyRangesOp::maxRanges; ascending, not
  /// overlapping, 0 <= begin <= end <= the number of keys. Where a piece of
  /// visible keys is split, it is so at multiples of `step` from its begin.
  SmallVector<KeyRange> buildRanges(OpBuilder &builder, Location loc,
                                    const QueryBlockPlace &place, int64_t step);

private:
  Region &region;
  MaskNormalizer normalizer;
};

/// How a mask is causal, if it is nothing else, however it is spelled.
enum class CausalKind { None, BottomRight, TopLeft };
CausalKind getCausalKind(AttentionLikeOpInterface op);

} // namespace mlir::fa

#endif // FA_ANALYSIS_KEYRANGEANALYSIS_H
