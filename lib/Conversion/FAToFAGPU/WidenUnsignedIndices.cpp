//===- WidenUnsignedIndices.cpp - Unsigned indices in 64 bits -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexRanges.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAWIDENUNSIGNEDINDICESPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static void widen(Operation *op) {
  OpBuilder builder(op);
  op->getResult(0).replaceAllUsesWith(
      createLong(builder, op->getLoc(), op, op->getOperands()));
  op->erase();
}

/// `indices` are the batch, the head, the query and the key of the region.
static void widenIn(Region &region, ValueRange indices) {
  IndexRanges ranges;
  ranges.setIndices(indices);
  ValueRange pair = indices.drop_front(2);
  DenseSet<Value> ofPair(pair.begin(), pair.end());
  for (Operation &op : llvm::make_early_inc_range(region.front())) {
    bool dependsOnPair = llvm::any_of(
        op.getOperands(), [&](Value value) { return ofPair.contains(value); });
    if (dependsOnPair)
      ofPair.insert_range(op.getResults());
    else if (ranges.readsNegativeAsUnsigned(&op) &&
             op.getResult(0).getType().isIndex())
      widen(&op);
  }
}

namespace {
struct WidenUnsignedIndicesPass
    : public fa::impl::FAWidenUnsignedIndicesPassBase<
          WidenUnsignedIndicesPass> {
  void runOnOperation() override {
    getOperation()->walk([](PairRegionsOpInterface op) {
      for (const PairRegion &pairs : op.getPairRegions())
        widenIn(*pairs.region, pairs.region->getArguments().slice(
                                   pairs.numElements, pairs.numIndices));
    });
  }
};
} // namespace
