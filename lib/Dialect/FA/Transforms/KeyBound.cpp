//===- KeyBound.cpp - Largest key block of a step -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::fa;

FailureOr<int64_t> mlir::fa::getKeyBound(OnlineAttentionOp step) {
  int64_t position = step.getKeyOrder().positionOf(DimKind::Sequence);
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {step.getKey(), position},
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  if (failed(bound))
    return step.emitOpError("has a number of keys without a constant bound, "
                            "expected a block of keys: scratch is allocated "
                            "for it");
  return bound;
}
