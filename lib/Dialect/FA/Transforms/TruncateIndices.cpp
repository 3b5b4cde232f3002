//===- TruncateIndices.cpp - Casts of indices that cut --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/IntegerRanges.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATRUNCATEINDICES
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Whether a cast of an index may give another number.
static bool mayCut(Operation *op, IntegerRanges &ranges) {
  if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, index::CastSOp,
           index::CastUOp>(op))
    return false;
  Value in = op->getOperand(0);
  Type type = op->getResult(0).getType();
  if (!in.getType().isIndex() || !type.isInteger() ||
      getIntegerWidth(type) >= 64)
    return false;
  IntegerRange range = ranges.get(in);
  // Back from an unsigned number, one below 0 would be another.
  bool isUnsigned = isa<arith::IndexCastUIOp, index::CastUOp>(op);
  return !range.isBounded() || !range.isWithin(IntegerRange::getAll(type)) ||
         (isUnsigned && !range.isNonNegative());
}

/// The batch is argument `firstPosition` of the region.
static void truncateIn(Region &region, unsigned firstPosition) {
  IntegerRanges ranges(firstPosition);
  for (Operation &op : llvm::make_early_inc_range(region.front())) {
    if (!mayCut(&op, ranges))
      continue;
    OpBuilder builder(&op);
    Value whole = arith::IndexCastOp::create(
        builder, op.getLoc(), builder.getI64Type(), op.getOperand(0));
    Value result = op.getResult(0);
    result.replaceAllUsesWith(
        arith::TruncIOp::create(builder, op.getLoc(), result.getType(), whole));
    op.erase();
  }
}

namespace {
struct TruncateIndicesPass
    : public fa::impl::FATruncateIndicesBase<TruncateIndicesPass> {
  void runOnOperation() override {
    getOperation()->walk([](PairRegionsOpInterface op) {
      for (const PairRegion &pairs : op.getPairRegions())
        truncateIn(*pairs.region, pairs.numElements);
    });
  }
};
} // namespace
