//===- SpecializeMask.cpp - Visit only the keys that a mask leaves -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces a step over all keys by fa.key_ranges: KeyRangeAnalysis finds
// which keys a query block sees in full or in part, and only those are
// visited. Read `specializeMask` first; remarks say what the analysis could
// not see.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASPECIALIZEMASK
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr StringLiteral passName = "fa-specialize-mask";

// The number of valid keys of the operand. Keys at or past the extent are
// masked whatever the mask says, so they must not be in a full range.
static Value getNumValidKeys(RewriterBase &rewriter, OnlineAttentionOp op) {
  Location loc = op.getLoc();
  OpFoldResult size = getMixedSize(rewriter, loc, op.getKey(), op.getKeyOrder(),
                                   DimKind::Sequence);
  Value keys = getValueOrCreateConstantIndexOp(rewriter, loc, size);
  Value extent = op.getExtents()[1], offset = op.getOffsets()[3];
  using Variable = ValueBoundsConstraintSet::Variable;
  auto sum = AffineMap::get(
      2, 0, rewriter.getAffineDimExpr(0) + rewriter.getAffineDimExpr(1));
  if (ValueBoundsConstraintSet::compare(
          Variable(sum, {Variable(keys), Variable(offset)}),
          ValueBoundsConstraintSet::ComparisonOperator::LE, Variable(extent)))
    return keys;
  Value valid = extent;
  if (!isConstantIntValue(getAsOpFoldResult(offset), 0)) {
    // A part of the keys may begin past the last valid one.
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    valid = rewriter.createOrFold<arith::SubIOp>(loc, extent, offset);
    valid = rewriter.createOrFold<arith::MaxSIOp>(loc, valid, zero);
  }
  return rewriter.createOrFold<arith::MinSIOp>(loc, keys, valid);
}

static void reportObstacles(OnlineAttentionOp op,
                            const KeyRangeAnalysis &analysis) {
  for (const MaskObstacle &obstacle : analysis.getObstacles())
    remark::missed(obstacle.operation->getLoc(),
                   remark::RemarkOpts::name("MaskNotAffine").category(passName))
        << "no key ranges from a part of the mask: " + obstacle.reason;
}

static void reportRanges(OnlineAttentionOp op, ArrayRef<KeyRange> ranges) {
  if (op.getMask().empty())
    return;
  std::string kinds;
  for (const KeyRange &range : ranges)
    kinds += (kinds.empty() ? "" : ", ") +
             std::string(range.full ? "full" : "partial");
  remark::passed(op.getLoc(),
                 remark::RemarkOpts::name("KeyRanges").category(passName))
      << "key ranges of the mask: " + (kinds.empty() ? "none" : kinds);
}

// One visit: the keys and values of the block, and the step on them.
static void buildVisit(OpBuilder &builder, Location loc, OnlineAttentionOp op,
                       Value key, Value count, ValueRange state) {
  auto getBlock = [&](Value operand, DimsAttr order) {
    return createSliceOf(builder, loc, operand, order, DimKind::Sequence, key,
                         count);
  };
  Value keyBlock = getBlock(op.getKey(), op.getKeyOrder());
  Value valueBlock = getBlock(op.getValue(), op.getValueOrder());
  Value offset =
      builder.createOrFold<arith::AddIOp>(loc, op.getOffsets()[3], key);
  auto visit = cast<OnlineAttentionOp>(builder.clone(*op));
  visit.getKeyMutable().assign(keyBlock);
  visit.getValueMutable().assign(valueBlock);
  visit.getOffsetsMutable().slice(3, 1).assign(offset);
  for (auto [position, value] : llvm::enumerate(state))
    visit.setDpsInitOperand(position, value);
  YieldOp::create(builder, loc, visit.getResults());
}

/// Whether `rows` are those of a tile of a parallel loop: the size of its block
/// or, at the end, what is left, so at least one.
static bool isNeverEmpty(Value rows) {
  auto least = rows.getDefiningOp<affine::AffineMinOp>();
  if (!least)
    return false;
  AffineMap map = least.getAffineMap();
  auto getOperand = [&](Value value) -> AffineExpr {
    auto found = llvm::find(least.getOperands(), value);
    if (found == least.getOperands().end())
      return {};
    unsigned number = found - least.getOperands().begin();
    if (number < map.getNumDims())
      return getAffineDimExpr(number, map.getContext());
    return getAffineSymbolExpr(number - map.getNumDims(), map.getContext());
  };
  // The end of the loop that an operand is the index of, less the index.
  auto getRest = [&](Value index) -> AffineExpr {
    scf::ForallOp loop = scf::getForallOpThreadIndexOwner(index);
    if (!loop)
      return {};
    unsigned dim = cast<BlockArgument>(index).getArgNumber();
    OpFoldResult end = loop.getMixedUpperBound()[dim];
    std::optional<int64_t> constant = getConstantIntValue(end);
    AffineExpr bound = constant
                           ? getAffineConstantExpr(*constant, map.getContext())
                           : getOperand(cast<Value>(end));
    return bound ? bound - getOperand(index) : AffineExpr();
  };
  return llvm::all_of(map.getResults(), [&](AffineExpr result) {
    if (auto constant = dyn_cast<AffineConstantExpr>(result))
      return constant.getValue() > 0;
    return llvm::any_of(least.getOperands(), [&](Value operand) {
      AffineExpr rest = getRest(operand);
      return rest && simplifyAffineExpr(result - rest, map.getNumDims(),
                                        map.getNumSymbols()) ==
                         getAffineConstantExpr(0, map.getContext());
    });
  });
}

/// Whether key ranges are to leave out the test for rows, which differs between
/// query blocks. Elsewhere that test costs nothing, and ptxas 13.0 spills 116
/// bytes of a bias at head dim 64 without it.
static bool needsEqualKeyRanges(OnlineAttentionOp op) {
  TargetConfigAttrInterface target = op.getConfigAttr().getTarget();
  return target && target.needsEqualKeyRanges();
}

FailureOr<KeyRangesOp> mlir::fa::specializeMask(RewriterBase &rewriter,
                                                OnlineAttentionOp op) {
  if (!op.getConfigAttr())
    return op.emitOpError("has no config, expected one that names key_block "
                          "(fa-select-config sets it)");
  if (op.getOutputs().size() != 3)
    return op.emitOpError("has its state in memory, expected tensors");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });

  KeyRangeAnalysis analysis(op.getMask());
  reportObstacles(op, analysis);
  OpFoldResult rows = getMixedSize(rewriter, loc, op.getQuery(),
                                   op.getQueryOrder(), DimKind::Sequence);
  QueryBlockPlace place;
  place.batch = op.getOffsets()[0];
  place.head = op.getOffsets()[1];
  place.firstQuery = op.getOffsets()[2];
  place.numQueries = getValueOrCreateConstantIndexOp(rewriter, loc, rows);
  place.hasQueries = needsEqualKeyRanges(op) && isNeverEmpty(place.numQueries);
  place.firstKey = op.getOffsets()[3];
  place.numKeys = getNumValidKeys(rewriter, op);
  place.queryLength = op.getExtents()[0];
  place.keyLength = op.getExtents()[1];
  place.captures = op.getMaskCaptures();
  int64_t step = op.getConfigAttr().getKeyBlock();
  SmallVector<KeyRange> ranges =
      analysis.buildRanges(rewriter, loc, place, step);
  reportRanges(op, ranges);

  SmallVector<Value> begins, ends;
  SmallVector<bool> full;
  for (const KeyRange &range : ranges) {
    begins.push_back(range.begin);
    ends.push_back(range.end);
    full.push_back(range.full);
  }
  auto visits = KeyRangesOp::create(
      rewriter, loc, begins, ends, full, step, op.getDpsInits(),
      [&](OpBuilder &builder, Location at, Value key, Value count,
          ValueRange state) {
        buildVisit(builder, at, op, key, count, state);
      });
  rewriter.replaceOp(op, visits);
  return visits;
}

namespace {
struct SpecializeMaskPass
    : public mlir::fa::impl::FASpecializeMaskBase<SpecializeMaskPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FASpecializeMaskBase::getDependentDialects(registry);
    registerBoundsDependencies(registry);
  }

  void runOnOperation() override {
    SmallVector<OnlineAttentionOp> steps;
    getOperation()->walk([&](OnlineAttentionOp op) {
      if (!op->getParentOfType<KeyRangesOp>())
        steps.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (OnlineAttentionOp op : steps)
      if (failed(specializeMask(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
