//===- ScatterToLoops.cpp - Sums of pairs into memory as loops ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASCATTERTOLOOPS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// memory[indices] += value, unless an index is out of bounds.
static void addInBounds(OpBuilder &builder, Location loc, Value value,
                        Value memory, ValueRange indices) {
  auto add = [&](OpBuilder &at) {
    Value old = memref::LoadOp::create(at, loc, memory, indices);
    Value sum = arith::AddFOp::create(at, loc, old, value);
    memref::StoreOp::create(at, loc, sum, memory, indices);
  };
  Value isInside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value size = memref::DimOp::create(builder, loc, memory, dim);
    // An index below 0 is a large number without a sign.
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, index, size);
    isInside =
        isInside
            ? arith::AndIOp::create(builder, loc, isInside, inside).getResult()
            : inside;
  }
  if (!isInside)
    return add(builder);
  scf::IfOp::create(builder, loc, isInside, [&](OpBuilder &at, Location) {
    add(at);
    scf::YieldOp::create(at, loc);
  });
}

/// Two loops over the pairs of the block.
static void convert(RewriterBase &rewriter, ScatterAddOp scatter) {
  Location loc = scatter.getLoc();
  rewriter.setInsertionPoint(scatter);
  SmallVector<Value> captures =
      guardEmptyTables(rewriter, loc, scatter.getCaptures());
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  SmallVector<Value> pair;
  for (int64_t dim : {0, 1}) {
    Value size = memref::DimOp::create(rewriter, loc, scatter.getInput(), dim);
    auto loop = scf::ForOp::create(rewriter, loc, zero, size, one);
    pair.push_back(loop.getInductionVar());
    rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  }
  OperandRange offsets = scatter.getOffsets();
  auto getIndex = [&](Value first, unsigned dim) -> Value {
    return arith::AddIOp::create(rewriter, loc, first, pair[dim]);
  };
  unsigned queryDim = scatter.getRowsAreKeys() ? 1 : 0;
  PairPlace place;
  place.batch = offsets[0];
  place.head = offsets[1];
  place.query = getIndex(offsets[2], queryDim);
  place.key = getIndex(offsets[3], 1 - queryDim);
  place.queries = scatter.getExtents()[0];
  place.keys = scatter.getExtents()[1];
  Value value = memref::LoadOp::create(rewriter, loc, scatter.getInput(), pair);
  SmallVector<Value> indices = inlinePairRegion(
      rewriter, scatter.getBody(), /*elements=*/ValueRange(), place, captures);
  addInBounds(rewriter, loc, value, scatter.getDestination(), indices);
  rewriter.eraseOp(scatter);
}

namespace {
struct ScatterToLoopsPass
    : public fa::impl::FAScatterToLoopsBase<ScatterToLoopsPass> {
  void runOnOperation() override {
    SmallVector<ScatterAddOp> all;
    getOperation()->walk([&](ScatterAddOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (ScatterAddOp scatter : all) {
      for (Value value : llvm::concat<Value>(ValueRange(scatter.getInput()),
                                             scatter.getCaptures()))
        if (isa<RankedTensorType>(value.getType())) {
          scatter.emitOpError() << "reads a value of type " << value.getType()
                                << ", expected memory: bufferize it first";
          return signalPassFailure();
        }
      convert(rewriter, scatter);
    }
  }
};
} // namespace
