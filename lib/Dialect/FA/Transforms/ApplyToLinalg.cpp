//===- ApplyToLinalg.cpp - Regions on pairs as linalg operations ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAAPPLYTOLINALG
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// The place of the current iteration of loops over rows and columns. Pairs
/// behind the last query or key are evaluated there.
static PairPlace getPlace(OpBuilder &builder, ApplyOp apply) {
  Location loc = apply.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto getIndex = [&](Value first, unsigned loop, Value extent) -> Value {
    Value index = linalg::IndexOp::create(builder, loc, loop);
    index = arith::AddIOp::create(builder, loc, first, index);
    Value last = arith::SubIOp::create(builder, loc, extent, one);
    index = arith::MinSIOp::create(builder, loc, index, last);
    return arith::MaxSIOp::create(builder, loc, index, zero);
  };
  OperandRange offsets = apply.getOffsets();
  unsigned queryLoop = apply.getRowsAreKeys() ? 1 : 0;
  PairPlace place;
  place.queries = apply.getExtents()[0];
  place.keys = apply.getExtents()[1];
  place.batch = offsets[0];
  place.head = offsets[1];
  place.query = getIndex(offsets[2], queryLoop, place.queries);
  place.key = getIndex(offsets[3], 1 - queryLoop, place.keys);
  return place;
}

LogicalResult mlir::fa::convertApplyToLinalg(RewriterBase &rewriter,
                                             ApplyOp apply) {
  for (Value capture : apply.getCaptures())
    if (isa<RankedTensorType>(capture.getType()))
      return apply.emitOpError() << "captures a value of type "
                                 << capture.getType() << ", expected memory";
  Location loc = apply.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(apply);
  SmallVector<Value> captures =
      guardEmptyTables(rewriter, loc, apply.getCaptures());
  ReifiedRankedShapedTypeDims shapes;
  (void)apply.reifyResultShapes(rewriter, shapes);
  SmallVector<Value> destinations;
  for (auto [type, shape] : llvm::zip_equal(apply.getResultTypes(), shapes))
    destinations.push_back(tensor::EmptyOp::create(rewriter, loc, shape,
                                                   getElementTypeOrSelf(type)));
  unsigned numInputs = apply.getInputs().size();
  SmallVector<AffineMap> maps(numInputs + destinations.size(),
                              rewriter.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(
      apply, apply.getResultTypes(), apply.getInputs(), destinations, maps,
      loops, [&](OpBuilder &builder, Location, ValueRange scalars) {
        PairPlace place = getPlace(builder, apply);
        linalg::YieldOp::create(builder, loc,
                                inlinePairRegion(builder, apply.getBody(),
                                                 scalars.take_front(numInputs),
                                                 place, captures));
      });
  return success();
}

namespace {
struct ApplyToLinalgPass
    : public fa::impl::FAApplyToLinalgBase<ApplyToLinalgPass> {
  void runOnOperation() override {
    SmallVector<ApplyOp> all;
    getOperation()->walk([&](ApplyOp apply) { all.push_back(apply); });
    IRRewriter rewriter(&getContext());
    for (ApplyOp apply : all)
      if (failed(convertApplyToLinalg(rewriter, apply)))
        return signalPassFailure();
  }
};
} // namespace
