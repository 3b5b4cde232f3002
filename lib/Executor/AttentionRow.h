//===- AttentionRow.h - Exact softmax of one row ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_ATTENTIONROW_H
#define FA_LIB_EXECUTOR_ATTENTIONROW_H

#include "AttentionRegions.h"

namespace mlir::fa::executor {

/// The keys and values of one batch and one key head, packed.
struct HeadData {
  int64_t headDim = 0;
  int64_t valueHeadDim = 0;
  /// Keys that may be read, and the absolute index of the first.
  int64_t numKeys = 0;
  int64_t firstKey = 0;
  /// Head dim x keys, and keys x value head dim.
  std::vector<double> keysTransposed;
  std::vector<double> values;
  /// Which keys are in a page that is none; empty if none is.
  std::vector<bool> isMissing;
};

/// Which keys of a row to look at the mask for.
enum class MaskUse {
  /// The mask decides.
  Apply,
  /// Every key is visible.
  Ignore,
  /// Every key must be visible; another one is an error.
  Check,
};

/// Evaluates rows of an attention: visible keys, their scores, and the softmax
/// in two passes, all in double.
class RowEvaluator {
public:
  RowEvaluator(Operation *op, const CompiledRegion &score,
               const CompiledRegion &mask, Frame &frame)
      : op(op), score(score), mask(mask), scoreState(score.bind(frame)),
        maskState(mask.bind(frame)) {}

  /// Finds the visible keys of a row among `head`'s.
  LogicalResult findVisible(const RowPosition &position, const HeadData &head,
                            MaskUse use);
  /// Computes the scores of the visible keys; `query` has `headDim` elements.
  LogicalResult computeScores(const RowPosition &position, const HeadData &head,
                              const double *query, double scale);

  /// Visible keys, relative to the first of the head's, and their scores.
  ArrayRef<int64_t> getVisible() const { return visible; }
  ArrayRef<double> getScores() const { return scores; }
  /// Factors of their weights; 1 where the score region yields none.
  ArrayRef<double> getFactors() const { return factors; }
  /// Their products <query, key>, before the scale and the score region.
  ArrayRef<double> getProducts() const { return visibleProducts; }
  /// The largest score: -inf without any, NaN if any is NaN.
  double getMaximum() const;

private:
  LogicalResult checkVisible(const RowPosition &position, const HeadData &head,
                             int64_t numVisible);
  LogicalResult applyScoreRegion(const RowPosition &position,
                                 const HeadData &head);

  Operation *op;
  const CompiledRegion &score, &mask;
  LaneState scoreState, maskState;
  std::vector<int64_t> visible;
  std::vector<double> scores, factors, products, visibleProducts;
};

/// `sum += weight * values[key]` over the value head dim.
void addWeightedValue(const HeadData &head, int64_t key, double weight,
                      double *sum);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_ATTENTIONROW_H
