//===- ScatterToLoops.cpp - Sums of pairs into memory as loops ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What pairs of one row, or all pairs, add to one element is summed before it
// is added: fewer roundings reach a long sum. Where rows and columns are
// themselves indices, all is linalg on a part of the destination, so that it
// runs in vectors (`ScatterBlock`). Else it is loops (`ScatterLoops`).
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASCATTERTOLOOPS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using linalg::GenericOp;

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
static bool dependsOn(BlockArgument argument) {
  SetVector<Operation *> slice;
  getForwardSlice(argument, &slice);
  return slice.contains(argument.getOwner()->getTerminator());
}

/// The query or the key of the region: what columns, or rows, differ in.
static BlockArgument getPosition(ScatterAddOp scatter, bool ofRows) {
  bool isQuery = ofRows != scatter.getRowsAreKeys();
  return scatter.getBody().getArgument((scatter.getScores() ? 1 : 0) +
                                       (isQuery ? 2 : 3));
}

namespace {
/// Two loops over the pairs of a block, with sums for what pairs share.
class ScatterLoops {
public:
  ScatterLoops(RewriterBase &rewriter, ScatterAddOp scatter)
      : rewriter(rewriter), scatter(scatter), loc(scatter.getLoc()) {
    bool isOfPairs =
        scatter.getScores() && dependsOn(scatter.getBody().getArgument(0));
    rowsShare = !isOfPairs && !dependsOn(getPosition(scatter, /*ofRows=*/true));
    columnsShare =
        !isOfPairs && !dependsOn(getPosition(scatter, /*ofRows=*/false));
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
  SmallVector<Value> elements;
  if (scatter.getScores()) {
    // Where pairs share an element no index depends on their scores.
    SmallVector<Value> at = {row ? row : zero, column ? column : zero};
    elements.push_back(
        memref::LoadOp::create(rewriter, loc, scatter.getScores(), at));
  }
  SmallVector<Value> indices =
      inlinePairRegion(rewriter, scatter.getBody(), elements, place, captures);
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

//===----------------------------------------------------------------------===//
// Whole blocks
//===----------------------------------------------------------------------===//

namespace {
/// Adds a block, or the sums of its rows, to a part of the destination.
class ScatterBlock {
public:
  ScatterBlock(RewriterBase &rewriter, ScatterAddOp scatter)
      : rewriter(rewriter), scatter(scatter), loc(scatter.getLoc()) {}

  /// Fails where that form has none.
  LogicalResult build();

private:
  bool match();
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  SmallVector<Value> computeIndices();
  Value isInside(ArrayRef<Value> indices);
  Value countInside(Value first, int64_t dim, Value most);
  void emit(ArrayRef<Value> indices);
  Value sumRows(Value input);
  void addTo(Value memory, Value values);

  RewriterBase &rewriter;
  ScatterAddOp scatter;
  Location loc;
  /// The dimensions that rows and columns index.
  std::optional<int64_t> rowDim, columnDim;
};
} // namespace

/// Rows and columns each index at most one dimension, as they are. Sums of
/// columns alone would cross the lanes of vectors.
bool ScatterBlock::match() {
  if (scatter.getScores())
    return false;
  Block &body = scatter.getBody().front();
  BlockArgument row = getPosition(scatter, /*ofRows=*/true);
  BlockArgument column = getPosition(scatter, /*ofRows=*/false);
  SetVector<Operation *> dependent;
  getForwardSlice(row, &dependent);
  getForwardSlice(column, &dependent);
  for (auto [dim, index] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    std::optional<int64_t> *found = index == row      ? &rowDim
                                    : index == column ? &columnDim
                                                      : nullptr;
    if (found ? found->has_value() : dependent.contains(index.getDefiningOp()))
      return false;
    if (found)
      *found = dim;
  }
  return rowDim || !columnDim;
}

/// The indices of the first pair.
SmallVector<Value> ScatterBlock::computeIndices() {
  SmallVector<Value> captures =
      guardEmptyTables(rewriter, loc, scatter.getCaptures());
  OperandRange offsets = scatter.getOffsets();
  PairPlace place{offsets[0],
                  offsets[1],
                  offsets[2],
                  offsets[3],
                  scatter.getExtents()[0],
                  scatter.getExtents()[1]};
  return inlinePairRegion(rewriter, scatter.getBody(),
                          /*elements=*/ValueRange(), place, captures);
}

/// Whether indices that all pairs share are in bounds; null where there are
/// none.
Value ScatterBlock::isInside(ArrayRef<Value> indices) {
  Value all;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (static_cast<int64_t>(dim) == rowDim ||
        static_cast<int64_t>(dim) == columnDim)
      continue;
    Value size = memref::DimOp::create(rewriter, loc, scatter.getDestination(),
                                       static_cast<int64_t>(dim));
    Value inside = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::ult, index, size);
    all = all ? arith::AndIOp::create(rewriter, loc, all, inside).getResult()
              : inside;
  }
  return all;
}

/// How many of `most` elements from `first` on are in bounds.
Value ScatterBlock::countInside(Value first, int64_t dim, Value most) {
  Value size =
      memref::DimOp::create(rewriter, loc, scatter.getDestination(), dim);
  Value left = arith::SubIOp::create(rewriter, loc, size, first);
  left = arith::MaxSIOp::create(rewriter, loc, left, constant(0));
  return arith::MinSIOp::create(rewriter, loc, left, most);
}

static GenericOp createAdd(OpBuilder &builder, Location loc, Value input,
                           Value output, ArrayRef<AffineMap> maps,
                           ArrayRef<utils::IteratorType> loops) {
  return GenericOp::create(
      builder, loc, input, output, maps, loops,
      [](OpBuilder &nested, Location at, ValueRange scalars) {
        Value sum = arith::AddFOp::create(nested, at, scalars[1], scalars[0]);
        linalg::YieldOp::create(nested, at, sum);
      });
}

/// The sums of rows, in scratch.
Value ScatterBlock::sumRows(Value input) {
  auto type = cast<MemRefType>(input.getType());
  OpFoldResult rows = memref::getMixedSize(rewriter, loc, input, 0);
  Value sums = memref::AllocOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{rows}, type.getElementType());
  Value zero = arith::ConstantOp::create(
      rewriter, loc, rewriter.getFloatAttr(type.getElementType(), 0.0));
  linalg::FillOp::create(rewriter, loc, zero, sums);
  AffineMap both = rewriter.getMultiDimIdentityMap(2);
  createAdd(rewriter, loc, input, sums, {both, both.getMajorSubMap(1)},
            {utils::IteratorType::parallel, utils::IteratorType::reduction});
  return sums;
}

void ScatterBlock::addTo(Value memory, Value values) {
  int64_t rank = cast<MemRefType>(memory.getType()).getRank();
  SmallVector<AffineMap> maps(2, rewriter.getMultiDimIdentityMap(rank));
  createAdd(
      rewriter, loc, values, memory, maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel));
}

void ScatterBlock::emit(ArrayRef<Value> indices) {
  Value input = scatter.getInput(), destination = scatter.getDestination();
  Value rows = memref::DimOp::create(rewriter, loc, input, 0);
  Value columns = memref::DimOp::create(rewriter, loc, input, 1);
  if (!rowDim) {
    // All pairs add to one element.
    Value sums = sumRows(input);
    Value zero = arith::ConstantOp::create(
        rewriter, loc,
        rewriter.getFloatAttr(getElementTypeOrSelf(input.getType()), 0.0));
    auto loop = scf::ForOp::create(
        rewriter, loc, constant(0), rows, constant(1), zero,
        [&](OpBuilder &nested, Location at, Value row, ValueRange carried) {
          Value value = memref::LoadOp::create(nested, at, sums, row);
          Value sum = arith::AddFOp::create(nested, at, carried[0], value);
          scf::YieldOp::create(nested, at, sum);
        });
    Value old = memref::LoadOp::create(rewriter, loc, destination, indices);
    Value sum = arith::AddFOp::create(rewriter, loc, old, loop.getResult(0));
    memref::StoreOp::create(rewriter, loc, sum, destination, indices);
    return;
  }
  OpFoldResult one = rewriter.getIndexAttr(1), none = rewriter.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets(indices.begin(), indices.end());
  SmallVector<OpFoldResult> sizes(indices.size(), one);
  SmallVector<OpFoldResult> strides(indices.size(), one);
  Value rowCount = countInside(indices[*rowDim], *rowDim, rows);
  sizes[*rowDim] = rowCount;
  SmallVector<int64_t> shape(1, ShapedType::kDynamic);
  SmallVector<OpFoldResult> part{rowCount};
  if (columnDim) {
    Value columnCount = countInside(indices[*columnDim], *columnDim, columns);
    sizes[*columnDim] = columnCount;
    shape.push_back(ShapedType::kDynamic);
    part.push_back(columnCount);
  }
  // Nothing may be in bounds, and no part begins behind the end.
  Value isAny = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                                      rowCount, constant(0));
  if (columnDim)
    isAny = arith::AndIOp::create(
        rewriter, loc, isAny,
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                              cast<Value>(part[1]), constant(0)));
  auto branch = scf::IfOp::create(rewriter, loc, isAny);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(branch.thenYield());
  Value values = columnDim ? input : sumRows(input);
  SmallVector<OpFoldResult> starts(part.size(), none), units(part.size(), one);
  values =
      memref::SubViewOp::create(rewriter, loc, values, starts, part, units);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(destination.getType()), offsets, sizes, strides);
  Value view = memref::SubViewOp::create(rewriter, loc, type, destination,
                                         offsets, sizes, strides);
  if (columnDim && *columnDim < *rowDim)
    view = memref::TransposeOp::create(
        rewriter, loc, view,
        AffineMapAttr::get(AffineMap::getPermutationMap(
            ArrayRef<int64_t>{1, 0}, rewriter.getContext())));
  addTo(view, values);
}

LogicalResult ScatterBlock::build() {
  if (!match())
    return failure();
  rewriter.setInsertionPoint(scatter);
  SmallVector<Value> indices = computeIndices();
  Value inside = isInside(indices);
  if (inside) {
    auto branch = scf::IfOp::create(rewriter, loc, inside);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(branch.thenYield());
    emit(indices);
  } else {
    emit(indices);
  }
  rewriter.eraseOp(scatter);
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ScatterToLoopsPass
    : public fa::impl::FAScatterToLoopsBase<ScatterToLoopsPass> {
  void runOnOperation() override {
    SmallVector<ScatterAddOp> all;
    getOperation()->walk([&](ScatterAddOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (ScatterAddOp scatter : all) {
      for (Value value : scatter->getOperands())
        if (isa<RankedTensorType>(value.getType())) {
          scatter.emitOpError() << "reads a value of type " << value.getType()
                                << ", expected memory: bufferize it first";
          return signalPassFailure();
        }
      if (failed(ScatterBlock(rewriter, scatter).build()))
        ScatterLoops(rewriter, scatter).build();
    }
  }
};
} // namespace
