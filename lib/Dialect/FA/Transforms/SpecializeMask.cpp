//===- SpecializeMask.cpp - Visit only the keys that a mask leaves -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces a step over all keys by fa.key_ranges: KeyRangeAnalysis finds
// which keys a query block sees in full or in part, and only those are
// visited. A gradient of keys becomes fa.query_ranges in the same way. Read
// `specialize` first; remarks say what the analysis could not see.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASPECIALIZEMASK
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr StringLiteral passName = "fa-specialize-mask";

namespace {
/// An operand of which a visit takes a part; without an order, numbers of rows.
struct SequenceOperand {
  OpOperand *operand;
  DimsAttr order;
};
} // namespace

/// The numbers [first, first + count) of batch x heads x rows.
static Value createRowSlice(OpBuilder &builder, Location loc, Value rows,
                            Value first, Value count) {
  SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0)), sizes;
  for (int64_t dim = 0; dim < 2; ++dim)
    sizes.push_back(getMixedSize(builder, loc, rows, dim));
  offsets[2] = getAsOpFoldResult(first);
  sizes.push_back(getAsOpFoldResult(count));
  return createSlice(builder, loc, rows, offsets, sizes);
}

// How many of the sequence of an operand, which begins at `offset`, are below
// the extent. Those behind are masked whatever the mask says, so they must not
// be in a full range.
static Value getNumValid(RewriterBase &rewriter, Location loc, Value operand,
                         DimsAttr order, Value offset, Value extent) {
  OpFoldResult size =
      getMixedSize(rewriter, loc, operand, order, DimKind::Sequence);
  Value keys = getValueOrCreateConstantIndexOp(rewriter, loc, size);
  using Variable = ValueBoundsConstraintSet::Variable;
  auto sum = AffineMap::get(
      2, 0, rewriter.getAffineDimExpr(0) + rewriter.getAffineDimExpr(1));
  if (ValueBoundsConstraintSet::compare(
          Variable(sum, {Variable(keys), Variable(offset)}),
          ValueBoundsConstraintSet::ComparisonOperator::LE, Variable(extent)))
    return keys;
  Value valid = extent;
  if (!isConstantIntValue(getAsOpFoldResult(offset), 0)) {
    // A part may begin past the last valid one.
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    valid = rewriter.createOrFold<arith::SubIOp>(loc, extent, offset);
    valid = rewriter.createOrFold<arith::MaxSIOp>(loc, valid, zero);
  }
  return rewriter.createOrFold<arith::MinSIOp>(loc, keys, valid);
}

static void reportObstacles(const KeyRangeAnalysis &analysis, StringRef what) {
  for (const MaskObstacle &obstacle : analysis.getObstacles())
    remark::missed(obstacle.operation->getLoc(),
                   remark::RemarkOpts::name("MaskNotAffine").category(passName))
        << "no " + what.str() +
               " ranges from a part of the mask: " + obstacle.reason;
}

static void reportRanges(AttentionLikeOpInterface op, ArrayRef<KeyRange> ranges,
                         StringRef what) {
  if (op.getMask().empty())
    return;
  std::string kinds;
  for (const KeyRange &range : ranges)
    kinds += (kinds.empty() ? "" : ", ") +
             std::string(range.full ? "full" : "partial");
  remark::passed(op.getLoc(),
                 remark::RemarkOpts::name("KeyRanges").category(passName))
      << what.str() +
             " ranges of the mask: " + (kinds.empty() ? "none" : kinds);
}

// One visit: the block's part of each operand of `sequence`, and the step on
// them.
template <typename OpTy>
static void buildVisit(OpBuilder &builder, Location loc, OpTy op,
                       ArrayRef<SequenceOperand> sequence, unsigned offset,
                       Value first, Value count, ValueRange state) {
  SmallVector<Value> parts;
  for (const SequenceOperand &each : sequence)
    parts.push_back(
        each.order
            ? createSliceOf(builder, loc, each.operand->get(), each.order,
                            DimKind::Sequence, first, count)
            : createRowSlice(builder, loc, each.operand->get(), first, count));
  Value position =
      builder.createOrFold<arith::AddIOp>(loc, op.getOffsets()[offset], first);
  auto visit = cast<OpTy>(builder.clone(*op));
  for (auto [each, part] : llvm::zip_equal(sequence, parts))
    visit->setOperand(each.operand->getOperandNumber(), part);
  visit.getOffsetsMutable().slice(offset, 1).assign(position);
  unsigned next = 0;
  for (OpOperand &init : visit.getDpsInitsMutable())
    if (isa<RankedTensorType>(init.get().getType()))
      init.set(state[next++]);
  YieldOp::create(builder, loc, visit->getResults());
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
static bool needsEqualKeyRanges(ConfigAttr config) {
  TargetConfigAttrInterface target = config.getTarget();
  return target && target.needsEqualKeyRanges();
}

/// The visits of `sequence`, of which `place` says what is visited and for
/// what.
template <typename RangesOp, typename OpTy>
static RangesOp specialize(RewriterBase &rewriter, OpTy op,
                           const QueryBlockPlace &place, VisitedIndex visited,
                           ArrayRef<SequenceOperand> sequence) {
  Location loc = op.getLoc();
  bool visitsKeys = visited == VisitedIndex::Key;
  StringRef what = visitsKeys ? "key" : "query";
  KeyRangeAnalysis analysis(op.getMask(), visited);
  reportObstacles(analysis, what);
  ConfigAttr config = op.getConfigAttr();
  int64_t step = visitsKeys ? config.getKeyBlock() : config.getQueryBlock();
  SmallVector<KeyRange> ranges =
      analysis.buildRanges(rewriter, loc, place, step);
  reportRanges(op, ranges, what);
  SmallVector<Value> begins, ends;
  SmallVector<bool> full;
  for (const KeyRange &range : ranges) {
    begins.push_back(range.begin);
    ends.push_back(range.end);
    full.push_back(range.full);
  }
  SmallVector<Value> carried;
  for (Value init : op.getDpsInits())
    if (isa<RankedTensorType>(init.getType()))
      carried.push_back(init);
  auto visits =
      RangesOp::create(rewriter, loc, begins, ends, full, step, carried,
                       [&](OpBuilder &builder, Location at, Value first,
                           Value count, ValueRange state) {
                         buildVisit(builder, at, op, sequence,
                                    visitsKeys ? 3 : 2, first, count, state);
                       });
  if (place.isAligned && drawsDropout(op.getScore()))
    visits->setAttr(alignedRangesAttrName, rewriter.getUnitAttr());
  rewriter.replaceOp(op, visits);
  return visits;
}

static bool isOnGPU(ConfigAttr config) {
  TargetConfigAttrInterface target = config.getTarget();
  return target && target.getTargetName() == "gpu";
}

/// Whether rows are found by pages, of which a GPU copies parts of one.
static bool isPaged(Value rows) {
  while (auto slice = rows.getDefiningOp<memref::SubViewOp>())
    rows = slice.getSource();
  return rows.getDefiningOp<PagedRowsOp>() != nullptr;
}

/// Where a step stands: its queries, and the keys that it visits.
template <typename OpTy>
static QueryBlockPlace getPlace(RewriterBase &rewriter, OpTy op) {
  Location loc = op.getLoc();
  OpFoldResult rows = getMixedSize(rewriter, loc, op.getQuery(),
                                   op.getQueryOrder(), DimKind::Sequence);
  QueryBlockPlace place;
  place.batch = op.getOffsets()[0];
  place.head = op.getOffsets()[1];
  place.firstQuery = op.getOffsets()[2];
  place.numQueries = getValueOrCreateConstantIndexOp(rewriter, loc, rows);
  place.hasQueries =
      needsEqualKeyRanges(op.getConfigAttr()) && isNeverEmpty(place.numQueries);
  place.firstKey = op.getOffsets()[3];
  place.numKeys = getNumValid(rewriter, loc, op.getKey(), op.getKeyOrder(),
                              op.getOffsets()[3], op.getExtents()[1]);
  place.queryLength = op.getExtents()[0];
  place.keyLength = op.getExtents()[1];
  place.captures = op.getMaskCaptures();
  place.isAligned = isOnGPU(op.getConfigAttr()) &&
                    (isPaged(op.getKey()) || drawsDropout(op.getScore()));
  return place;
}

/// The same with queries and keys exchanged.
static QueryBlockPlace getVisitedQueries(RewriterBase &rewriter,
                                         GradientKeysOp op) {
  Location loc = op.getLoc();
  OpFoldResult rows = getMixedSize(rewriter, loc, op.getKey(), op.getKeyOrder(),
                                   DimKind::Sequence);
  QueryBlockPlace place;
  place.batch = op.getOffsets()[0];
  place.head = op.getOffsets()[1];
  place.firstQuery = op.getOffsets()[3];
  place.numQueries = getValueOrCreateConstantIndexOp(rewriter, loc, rows);
  place.firstKey = op.getOffsets()[2];
  place.numKeys = getNumValid(rewriter, loc, op.getQuery(), op.getQueryOrder(),
                              op.getOffsets()[2], op.getExtents()[0]);
  place.queryLength = op.getExtents()[0];
  place.keyLength = op.getExtents()[1];
  place.captures = op.getMaskCaptures();
  place.isAligned = isOnGPU(op.getConfigAttr());
  // Queries behind the last one have the weight 0 there, by their lse.
  place.isRestFull = place.isAligned && op.getQueryGradient();
  return place;
}

static LogicalResult checkConfig(Operation *op, ConfigAttr config) {
  if (config)
    return success();
  return op->emitOpError("has no config, expected one that names key_block "
                         "(fa-select-config sets it)");
}

template <typename OpTy>
static FailureOr<KeyRangesOp> specializeKeys(RewriterBase &rewriter, OpTy op) {
  if (failed(checkConfig(op, op.getConfigAttr())))
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  return specialize<KeyRangesOp>(rewriter, op, getPlace(rewriter, op),
                                 VisitedIndex::Key,
                                 {{&op.getKeyMutable(), op.getKeyOrder()},
                                  {&op.getValueMutable(), op.getValueOrder()}});
}

FailureOr<KeyRangesOp> mlir::fa::specializeMask(RewriterBase &rewriter,
                                                OnlineAttentionOp op) {
  if (op.getConfigAttr() && op.getOutputs().size() != 3)
    return op.emitOpError("has its state in memory, expected tensors");
  return specializeKeys(rewriter, op);
}

FailureOr<KeyRangesOp> mlir::fa::specializeMask(RewriterBase &rewriter,
                                                GradientQueriesOp op) {
  return specializeKeys(rewriter, op);
}

FailureOr<QueryRangesOp> mlir::fa::specializeMask(RewriterBase &rewriter,
                                                  GradientKeysOp op) {
  if (failed(checkConfig(op, op.getConfigAttr())))
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  SmallVector<SequenceOperand> sequence = {
      {&op.getQueryMutable(), op.getQueryOrder()},
      {&op.getOutputGradientMutable(), op.getOutputGradientOrder()},
      {&op.getLseMutable(), DimsAttr()},
      {&op.getDeltaMutable(), DimsAttr()}};
  for (OpOperand &gradient : op.getQueryGradientMutable())
    sequence.push_back({&gradient, op.getQueryGradientOrder()});
  return specialize<QueryRangesOp>(rewriter, op,
                                   getVisitedQueries(rewriter, op),
                                   VisitedIndex::Query, sequence);
}

namespace {
struct SpecializeMaskPass
    : public mlir::fa::impl::FASpecializeMaskBase<SpecializeMaskPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FASpecializeMaskBase::getDependentDialects(registry);
    registerBoundsDependencies(registry);
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> steps;
    getOperation()->walk([&](AttentionLikeOpInterface op) {
      if (!op->getParentOfType<BlockRangesOpInterface>())
        steps.push_back(op);
    });
    for (Operation *step : steps) {
      auto result =
          TypeSwitch<Operation *, LogicalResult>(step)
              .Case<OnlineAttentionOp, GradientKeysOp, GradientQueriesOp>(
                  [&](auto op) { return specializeMask(rewriter, op); })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return signalPassFailure();
    }
  }
};
} // namespace
