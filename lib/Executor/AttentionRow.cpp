//===- AttentionRow.cpp - Exact softmax of one row ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionRow.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

LogicalResult RowEvaluator::findVisible(const RowPosition &position,
                                        const HeadData &head, MaskUse use) {
  visible.clear();
  int64_t limit = use == MaskUse::Ignore
                      ? head.numKeys
                      : std::clamp<int64_t>(position.keyLength - head.firstKey,
                                            0, head.numKeys);
  if (mask.isEmpty() || use == MaskUse::Ignore) {
    for (int64_t key = 0; key < limit; ++key)
      visible.push_back(key);
  } else {
    mask.setRow(maskState, position);
    for (int64_t first = 0; first < limit; first += CompiledRegion::capacity) {
      int64_t count = std::min(CompiledRegion::capacity, limit - first);
      Slot *keys = mask.getKeys(maskState);
      for (int64_t i = 0; i < count; ++i)
        keys[i].integer = head.firstKey + first + i;
      if (failed(mask.run(maskState, count)))
        return failure();
      const Slot *isVisible = mask.getResult(maskState);
      for (int64_t i = 0; i < count; ++i)
        if (isVisible[i].integer)
          visible.push_back(first + i);
    }
  }
  return use == MaskUse::Check ? checkVisible(position, head, head.numKeys)
                               : success();
}

LogicalResult RowEvaluator::checkVisible(const RowPosition &position,
                                         const HeadData &head,
                                         int64_t numVisible) {
  if (static_cast<int64_t>(visible.size()) == numVisible)
    return success();
  int64_t key = 0;
  while (key < static_cast<int64_t>(visible.size()) && visible[key] == key)
    ++key;
  return op->emitError()
         << "a key range declared full holds the masked pair of "
            "query "
         << position.query << " and key " << head.firstKey + key << " (batch "
         << position.batch << ", head " << position.head << ")";
}

LogicalResult RowEvaluator::computeScores(const RowPosition &position,
                                          const HeadData &head,
                                          const double *query, double scale) {
  scores.clear();
  factors.clear();
  visibleProducts.clear();
  if (visible.empty())
    return success();
  // Visible keys mostly lie together: compute the span from first to last.
  int64_t first = visible.front(), count = visible.back() + 1 - first;
  products.assign(count, 0.0);
  for (int64_t dim = 0; dim < head.headDim; ++dim) {
    double factor = query[dim];
    const double *keys =
        head.keysTransposed.data() + dim * head.numKeys + first;
    for (int64_t i = 0; i < count; ++i)
      products[i] += factor * keys[i];
  }
  for (int64_t key : visible) {
    visibleProducts.push_back(products[key - first]);
    scores.push_back(scale * products[key - first]);
  }
  factors.assign(scores.size(), 1.0);
  return score.isEmpty() ? success() : applyScoreRegion(position, head);
}

LogicalResult RowEvaluator::applyScoreRegion(const RowPosition &position,
                                             const HeadData &head) {
  score.setRow(scoreState, position);
  int64_t total = visible.size();
  for (int64_t first = 0; first < total; first += CompiledRegion::capacity) {
    int64_t count = std::min(CompiledRegion::capacity, total - first);
    Slot *inputs = score.getElements(scoreState);
    Slot *keys = score.getKeys(scoreState);
    for (int64_t i = 0; i < count; ++i) {
      inputs[i].real = scores[first + i];
      keys[i].integer = head.firstKey + visible[first + i];
    }
    if (failed(score.run(scoreState, count)))
      return failure();
    const Slot *results = score.getResult(scoreState);
    for (int64_t i = 0; i < count; ++i)
      scores[first + i] = results[i].real;
    if (score.getNumResults() == 2) {
      const Slot *yielded = score.getResult(scoreState, 1);
      for (int64_t i = 0; i < count; ++i)
        factors[first + i] = yielded[i].real;
    }
  }
  return success();
}

double RowEvaluator::getMaximum() const {
  double maximum = -std::numeric_limits<double>::infinity();
  for (double value : scores) {
    if (std::isnan(value))
      return value;
    maximum = std::max(maximum, value);
  }
  return maximum;
}

void executor::addWeightedValue(const HeadData &head, int64_t key,
                                double weight, double *sum) {
  const double *values = head.values.data() + key * head.valueHeadDim;
  for (int64_t dim = 0; dim < head.valueHeadDim; ++dim)
    sum[dim] += weight * values[dim];
}
