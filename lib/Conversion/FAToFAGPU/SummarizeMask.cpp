//===- SummarizeMask.cpp - A mask on a block of pairs ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.summarize_mask on a block of pairs: whether some, and all, are visible.
// Read `decomposeSummary`. Bounds of what the mask compares come first; where
// they decide, `answerByBounds`; where they leave it open (`leavesOpen`), a
// branch evaluates the mask at each pair (`lookAtPairs`).
//
//===----------------------------------------------------------------------===//

#include "SummarizeMask.h"
#include "RegionBounds.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

bool mlir::fa::rowsAreKeys(SummarizeMaskOp op) {
  auto ranges = op->getParentOfType<BlockRangesOpInterface>();
  return ranges && isa<QueryRangesOp>(*ranges);
}

int64_t mlir::fa::getNumRows(SummarizeMaskOp op) {
  return static_cast<int64_t>(rowsAreKeys(op) ? op.getKeys() : op.getQueries());
}

static int64_t getNumColumns(SummarizeMaskOp op) {
  return static_cast<int64_t>(rowsAreKeys(op) ? op.getQueries() : op.getKeys());
}

static LogicalResult verifyRole(SummarizeMaskOp op) {
  auto role = op->getParentOfType<fagpu::RoleOp>();
  if (!role)
    return op.emitOpError() << "stands outside of the roles of a kernel";
  int64_t rows = getNumRows(op), columns = getNumColumns(op);
  StringRef rowsName = "queries", columnsName = "keys";
  if (rowsAreKeys(op))
    std::swap(rowsName, columnsName);
  int64_t warps = role.getWarps();
  if (role.getGroups() != 1 || rows % (16 * warps))
    return op.emitOpError()
           << "takes " << rows << " " << rowsName << ", expected a multiple of "
           << 16 * warps * role.getGroups() << ", 16 for each of "
           << warps * role.getGroups() << " warps of one group";
  if (columns % 16)
    return op.emitOpError() << "takes " << columns << " " << columnsName
                            << ", expected a multiple of 16";
  return success();
}

static PairBlock getPlace(SummarizeMaskOp op) {
  PairBlock place = getPairBlock(op.getOffsets(), op.getExtents(),
                                 op->getParentOfType<fagpu::RoleOp>());
  place.rows = getNumRows(op);
  place.columns = getNumColumns(op);
  place.rowsAreKeys = rowsAreKeys(op);
  return place;
}

static Value invert(OpBuilder &builder, Location loc, Value value,
                    TypedAttr yes) {
  return arith::XOrIOp::create(builder, loc, value,
                               arith::ConstantOp::create(builder, loc, yes));
}

/// Whether some, and all, pairs are visible, by looking at each; empty where an
/// operation of the mask has no form on blocks.
static SmallVector<Value> lookAtPairs(SummarizeMaskOp op, OpBuilder &outside,
                                      OpBuilder &inside,
                                      const PairBlock &place) {
  Location loc = op.getLoc();
  RegionOnBlocks region(outside, inside, loc, place);
  FailureOr<Value> visible =
      region.apply(op.getMask(), ValueRange(), op.getCaptures());
  if (failed(visible))
    return {};
  auto type = cast<RankedTensorType>(visible->getType());
  Value some = fagpu::AnyOp::create(inside, loc, *visible);
  Value hidden = fagpu::AnyOp::create(
      inside, loc,
      invert(inside, loc, *visible, DenseElementsAttr::get(type, true)));
  return {some, invert(inside, loc, hidden, inside.getBoolAttr(true))};
}

/// What bounds say; without them, all is possible.
static SmallVector<Value> answerByBounds(OpBuilder &builder, Location loc,
                                         RegionBounds::Truth truth) {
  TypedAttr yes = builder.getBoolAttr(true);
  if (!truth.mayBeTrue)
    return {
        arith::ConstantOp::create(builder, loc, yes),
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false))};
  return {truth.mayBeTrue, invert(builder, loc, truth.mayBeFalse, yes)};
}

/// Whether bounds say less than that no pair, that every pair, or that some and
/// not all pairs are visible.
static Value leavesOpen(OpBuilder &builder, Location loc,
                        RegionBounds::Truth truth) {
  Value isOpen =
      arith::AndIOp::create(builder, loc, truth.mayBeTrue, truth.mayBeFalse);
  if (!truth.isTrueOfSome || !truth.isFalseOfSome)
    return isOpen;
  Value isMixed = arith::AndIOp::create(builder, loc, truth.isTrueOfSome,
                                        truth.isFalseOfSome);
  Value isUnmixed = invert(builder, loc, isMixed, builder.getBoolAttr(true));
  return arith::AndIOp::create(builder, loc, isOpen, isUnmixed);
}

/// Pairs are looked at where bounds of what the mask compares leave open what
/// they are.
LogicalResult mlir::fa::decomposeSummary(SummarizeMaskOp op) {
  if (failed(verifyRole(op)))
    return failure();
  Location loc = op.getLoc();
  // What does not depend on the column is computed once for all blocks.
  Operation *first = op;
  while (auto ranges = first->getParentOfType<BlockRangesOpInterface>())
    first = ranges;
  OpBuilder outside(first), inside(op);
  PairBlock place = getPlace(op);
  RegionBounds bounds(outside, inside, loc, place);
  RegionBounds::Truth truth = bounds.apply(op.getMask(), op.getCaptures());
  SmallVector<Value> results;
  // What may be always is, of a pair.
  bool isDecided = truth.mayBeTrue && truth.mayBeTrue == truth.isTrueOfSome &&
                   truth.mayBeFalse == truth.isFalseOfSome;
  if (op.getByBounds() || isDecided) {
    results = answerByBounds(inside, loc, truth);
  } else if (!truth.mayBeTrue) {
    results = lookAtPairs(op, outside, inside, place);
  } else {
    Value isOpen = leavesOpen(inside, loc, truth);
    auto branch = scf::IfOp::create(inside, loc, op.getResultTypes(), isOpen,
                                    /*withElseRegion=*/true);
    OpBuilder pairs = branch.getThenBodyBuilder();
    SmallVector<Value> found = lookAtPairs(op, outside, pairs, place);
    if (found.empty())
      return failure();
    scf::YieldOp::create(pairs, loc, found);
    OpBuilder decided = branch.getElseBodyBuilder();
    scf::YieldOp::create(decided, loc, answerByBounds(decided, loc, truth));
    results = branch.getResults();
  }
  if (results.empty())
    return failure();
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}
