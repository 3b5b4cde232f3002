//===- ScatterToLoops.cpp - Sums of pairs into memory as loops ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What pairs of one row, or all pairs, add to one element is summed before it
// is added: fewer roundings reach a long sum. Read `ScatterLoops::build`.
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
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

/// Whether what the region yields depends on one of its arguments.
static bool dependsOn(Region &region, unsigned argument) {
  SetVector<Operation *> slice;
  getForwardSlice(region.getArgument(argument), &slice);
  Operation *yield = region.front().getTerminator();
  return slice.contains(yield);
}

namespace {
/// Two loops over the pairs of a block, with sums for what pairs share.
class ScatterLoops {
public:
  ScatterLoops(RewriterBase &rewriter, ScatterAddOp scatter)
      : rewriter(rewriter), scatter(scatter), loc(scatter.getLoc()) {
    unsigned query = 2, key = 3;
    bool rowsAreKeys = scatter.getRowsAreKeys();
    rowsShare = !dependsOn(scatter.getBody(), rowsAreKeys ? key : query);
    columnsShare = !dependsOn(scatter.getBody(), rowsAreKeys ? query : key);
  }

  void build();

private:
  Value getSize(int64_t dim) {
    return memref::DimOp::create(rewriter, loc, scatter.getInput(), dim);
  }
  /// A loop of `count` iterations. `body` is given the index and what it
  /// carries, and returns the next; without a sum both are null.
  Value loop(Value count, bool hasSum, function_ref<Value(Value, Value)> body);
  void add(Value value, Value row, Value column);

  RewriterBase &rewriter;
  ScatterAddOp scatter;
  Location loc;
  /// Whether all rows, or columns, add to one element.
  bool rowsShare, columnsShare;
  Value zero, one, none;
  SmallVector<Value> captures;
};
} // namespace

Value ScatterLoops::loop(Value count, bool hasSum,
                         function_ref<Value(Value, Value)> body) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto loop = scf::ForOp::create(rewriter, loc, zero, count, one,
                                 hasSum ? ValueRange(none) : ValueRange());
  Block *block = loop.getBody();
  if (!block->empty())
    rewriter.eraseOp(block->getTerminator());
  rewriter.setInsertionPointToEnd(block);
  Value next =
      body(loop.getInductionVar(), hasSum ? loop.getRegionIterArg(0) : Value());
  scf::YieldOp::create(rewriter, loc, next ? ValueRange(next) : ValueRange());
  return hasSum ? loop.getResult(0) : Value();
}

/// Adds to the element of a pair: of any, where all share it.
void ScatterLoops::add(Value value, Value row, Value column) {
  OperandRange offsets = scatter.getOffsets();
  auto getIndex = [&](Value first, Value local) -> Value {
    return local ? arith::AddIOp::create(rewriter, loc, first, local) : first;
  };
  bool rowsAreKeys = scatter.getRowsAreKeys();
  PairPlace place;
  place.batch = offsets[0];
  place.head = offsets[1];
  place.query = getIndex(offsets[2], rowsAreKeys ? column : row);
  place.key = getIndex(offsets[3], rowsAreKeys ? row : column);
  place.queries = scatter.getExtents()[0];
  place.keys = scatter.getExtents()[1];
  SmallVector<Value> indices = inlinePairRegion(
      rewriter, scatter.getBody(), /*elements=*/ValueRange(), place, captures);
  addInBounds(rewriter, loc, value, scatter.getDestination(), indices);
}

void ScatterLoops::build() {
  rewriter.setInsertionPoint(scatter);
  captures = guardEmptyTables(rewriter, loc, scatter.getCaptures());
  zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Type element = getElementTypeOrSelf(scatter.getInput().getType());
  none = arith::ConstantOp::create(rewriter, loc,
                                   rewriter.getFloatAttr(element, 0.0));
  Value columns = getSize(1);
  bool allShare = rowsShare && columnsShare;
  Value total = loop(getSize(0), allShare, [&](Value row, Value rows) {
    Value sum = loop(columns, columnsShare, [&](Value column, Value carried) {
      Value value = memref::LoadOp::create(rewriter, loc, scatter.getInput(),
                                           ValueRange{row, column});
      if (carried)
        return arith::AddFOp::create(rewriter, loc, carried, value).getResult();
      add(value, row, column);
      return Value();
    });
    if (rows)
      return arith::AddFOp::create(rewriter, loc, rows, sum).getResult();
    if (sum)
      add(sum, row, Value());
    return Value();
  });
  if (total)
    add(total, Value(), Value());
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
      ScatterLoops(rewriter, scatter).build();
    }
  }
};
} // namespace
