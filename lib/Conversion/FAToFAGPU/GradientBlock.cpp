//===- GradientBlock.cpp - One block of a gradient on block values --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of gradients, as DecomposeGradient.cpp has them on tensors, on
// block values: exponents are of base 2, and what a mask hides is set to 0
// behind the products. Read `run`, then `emitScores` and `emitStep`. Rows of
// the state are queries or keys; both steps are one text. GradientOperands.cpp
// has what they read, GradientAdditions.cpp what they add to captures.
//
//===----------------------------------------------------------------------===//

#include "GradientBlock.h"
#include "KernelConfig.h"
#include "SoftmaxStep.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace mlir::fa;

/// What is the same for all heads goes in front of their loop. Lengths are only
/// read while a kernel runs, and there is a head.
static void hoistFromHeads(scf::ForOp heads) {
  moveLoopInvariantCode(
      &heads.getRegion(),
      [&](Value value, Region *) {
        return heads.isDefinedOutsideOfLoop(value);
      },
      [](Operation *op, Region *) {
        return isa<memref::LoadOp>(op) ||
               (isMemoryEffectFree(op) && isSpeculatable(op));
      },
      [&](Operation *op, Region *) { heads.moveOutOfLoop(op); });
}

LogicalResult GradientBlock::match() {
  ranges = dyn_cast<BlockRangesOpInterface>(step->getParentOp());
  if (!ranges)
    return step.emitOpError()
           << "stands in no ranges; run fa-specialize-mask before";
  if (ranges->getNumResults() != step->getNumResults())
    return step.emitOpError()
           << "has " << step->getNumResults() << " results in ranges of "
           << ranges->getNumResults() << ", expected the state alone";
  members = dyn_cast<scf::ForOp>(ranges->getParentOp());
  if (members) {
    hoistFromHeads(members);
    visitAllOfHeads();
  }
  return success();
}

/// Heads whose ranges differ visit every block, with the mask.
void GradientBlock::visitAllOfHeads() {
  auto visits = dyn_cast<QueryRangesOp>(*ranges);
  if (!visits || llvm::all_of(ranges->getOperands(), [&](Value operand) {
        return members.isDefinedOutsideOfLoop(operand) ||
               isa<BlockArgument>(operand);
      }))
    return;
  OpBuilder builder(ranges);
  Value all = step.getQuery();
  while (ranges->isAncestor(all.getParentRegion()->getParentOp()))
    all = all.getDefiningOp<memref::SubViewOp>().getSource();
  Value none = arith::ConstantIndexOp::create(builder, ranges.getLoc(), 0);
  Value count = getValueOrCreateConstantIndexOp(
      builder, ranges.getLoc(),
      memref::getMixedSize(builder, ranges.getLoc(), all,
                           step.getQueryOrder().positionOf(DimKind::Sequence)));
  auto whole = QueryRangesOp::create(builder, ranges.getLoc(), none, count,
                                     ArrayRef<bool>{false}, ranges.getStep(),
                                     ranges.getInits(), nullptr);
  whole.getBodyRegion().takeBody(visits.getBodyRegion());
  visits.replaceAllUsesWith(whole.getResults());
  visits.erase();
  ranges = whole;
  hoistFromHeads(members);
}

LogicalResult GradientBlock::readProblem() {
  rowsAreKeys = isa<GradientKeysOp>(*step);
  hasGroups = hasWarpGroups(role->getParentOfType<func::FuncOp>());
  columns = ranges.getStep();
  element = cast<MemRefType>(step.getQuery().getType()).getElementType();
  if (failed(checkOrders(step, {step.getQueryOrder(), step.getKeyOrder(),
                                step.getValueOrder(),
                                step.getOutputGradientOrder()})))
    return failure();
  for (Value state : step->getResults()) {
    auto type = cast<RankedTensorType>(state.getType());
    if (!type.hasStaticShape())
      return step.emitOpError()
             << "has a state of type " << type
             << ", expected static rows and columns, as fa-tile-gradient makes "
                "them";
    if (failed(divideRows(type.getDimSize(0))))
      return failure();
    stateTypes.push_back(RankedTensorType::get(
        {rows, getColumns(type.getDimSize(1))}, type.getElementType()));
  }
  // Gradients of captures alone.
  if (auto queries = dyn_cast<GradientQueriesOp>(*step);
      queries && stateTypes.empty()) {
    ConfigAttr config = queries.getConfigAttr();
    if (!config)
      return step.emitOpError("has no state and no config, expected one that "
                              "gives the query block");
    if (failed(divideRows(config.getQueryBlock())))
      return failure();
  }
  return checkColumns(step, rowsAreKeys ? "queries" : "keys");
}

bool GradientBlock::addsToQueries() {
  auto keys = dyn_cast<GradientKeysOp>(*step);
  return keys && keys.getQueryGradient();
}

/// exp(scores - lse), in base 2: a factor of the scores joins that of the base.
Value GradientBlock::emitWeights(OpBuilder &outside, OpBuilder &inside,
                                 Value scores, Value reference) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  constexpr double log2e = 1.4426950408889634;
  Value factor;
  std::optional<ScaledBlock> scaled = matchScaled(scores);
  if (scaled && scaled->mayReorder() &&
      (isa<Attribute>(scaled->factor) ||
       !newRanges->isAncestor(
           cast<Value>(scaled->factor).getParentRegion()->getParentOp()))) {
    factor = arith::MulFOp::create(
        outside, loc, scaled->makeFactor(outside, loc),
        makeNumber(outside, loc, log2e), arith::FastMathFlags::reassoc);
    scores = scaled->rest;
  } else {
    factor = makeNumber(outside, loc, log2e);
  }
  Value exponent =
      math::FmaOp::create(inside, loc, scores, blocks.splat(factor, scoreType),
                          arith::NegFOp::create(inside, loc, reference));
  return blocks.exp2(exponent);
}

/// Both products of a block, its weights and the gradients of its scores.
FailureOr<GradientBlock::Scores>
GradientBlock::emitScores(OpBuilder &outside, OpBuilder &inside,
                          const PairBlock &place, RegionOnBlocks &region,
                          const IRMapping &mapping) {
  Location loc = step.getLoc();
  Operands operands = getOperands();
  EndOfSequence end = {rowsAreKeys ? place.queries : place.keys,
                       place.firstColumn(), /*mayExceedMemory=*/true};
  auto multiply = [&](Value rowTile, const Operand &operand,
                      Value &fetched) -> FailureOr<Value> {
    FailureOr<Value> tile =
        fetch(inside, step, mapping.lookupOrDefault(operand.memory),
              operand.order, columns, end);
    if (failed(tile))
      return failure();
    fetched = *tile;
    return fagpu::ProductOp::create(inside, loc, scoreType,
                                    fagpu::MatrixForm::nt, rowTile, fetched,
                                    Value())
        .getResult();
  };
  Scores result;
  FailureOr<Value> product =
      multiply(rowTile, operands.columns, result.columns);
  if (failed(product))
    return failure();
  Value scaled = scale(outside, inside, step, mapping, *product);
  Value ofQueriesAndKeys = *product;
  Value scores = scaled, factors;
  if (!step.getScore().empty()) {
    FailureOr<Value> changed =
        applyRegion(outside, inside, step, place, step.getScore(), mapping,
                    scaled, &factors);
    if (failed(changed))
      return failure();
    scores = *changed;
  }
  FailureOr<Value> references =
      spreadNumbers(inside, step.getLse(), rowReferences, mapping);
  if (failed(references))
    return failure();
  result.weights = emitWeights(outside, inside, scores, *references);
  if (hidesWeights()) {
    FailureOr<SmallVector<Value>> hidden =
        hidePairs(outside, inside, place, mapping, result.weights);
    if (failed(hidden))
      return failure();
    result.weights = hidden->front();
  }

  product = multiply(rowGradientTile, operands.columnGradients,
                     result.columnGradients);
  if (failed(product))
    return failure();
  result.product = *product;
  FailureOr<Value> deltas =
      spreadNumbers(inside, getDelta(), rowDeltas, mapping);
  if (failed(deltas))
    return failure();
  auto applyFactors = [&](Value values) -> Value {
    return factors ? arith::MulFOp::create(inside, loc, values, factors)
                   : values;
  };
  result.gradients = arith::MulFOp::create(
      inside, loc, result.weights,
      arith::SubFOp::create(inside, loc, applyFactors(*product), *deltas));
  result.weights = applyFactors(result.weights);
  if (failed(collectAdditions(inside, place, region, mapping, scaled,
                              ofQueriesAndKeys, result)))
    return failure();
  return result;
}

/// A weight of 0 makes the gradient of its score 0, unless a region computes
/// that. Threads that copy for themselves then multiply by the weights at once.
bool GradientBlock::hidesWeights() {
  return (addsToQueries() || !hasGroups) && step.getScoreGradient().empty();
}

/// Queries behind the last one have the weight 0, by their lse. Keys there are
/// hidden where they are columns, or summed up; they are not stored where they
/// are rows.
FailureOr<SmallVector<Value>> GradientBlock::hidePairs(OpBuilder &outside,
                                                       OpBuilder &inside,
                                                       const PairBlock &place,
                                                       const IRMapping &mapping,
                                                       ValueRange values) {
  Location loc = step.getLoc();
  Value end, rowEnd;
  if (!rowsAreKeys)
    end = inside.createOrFold<arith::AddIOp>(
        loc, place.key,
        countKeys(step, mapping, newRanges.getBodyRegion().getArgument(1)));
  else if (addsToQueries() || addsToCaptures()) {
    Value first = step.getOffsets().empty()
                      ? arith::ConstantIndexOp::create(outside, loc, 0)
                      : mapping.lookupOrDefault(step.getOffsets()[3]);
    FailureOr<Value> found =
        getRowEnd(outside, step, mapping.lookupOrDefault(step.getKey()),
                  step.getKeyOrder(), first, place.keys);
    if (failed(found))
      return failure();
    rowEnd = *found;
  }
  return hide(outside, inside, step, place, mapping, end, values,
              /*hidden=*/0.0f, rowEnd);
}

/// What the group has of the gradient of the block of queries.
Value GradientBlock::multiplyQueries(OpBuilder &inside, Value gradients) {
  Location loc = step.getLoc();
  auto type = sumsPart.getType(inside.getContext());
  if (!hasGroups)
    return fagpu::ProductOp::create(inside, loc, type, fagpu::MatrixForm::tn,
                                    keyColumns, gradients, Value());
  int64_t keys = rows * role.getGroups();
  Value all = fagpu::ExchangeOp::create(
      inside, loc, RankedTensorType::get({columns, keys}, element), gradients);
  if (sumsPart.transposed)
    return fagpu::ProductOp::create(inside, loc, type, fagpu::MatrixForm::tt,
                                    keyColumns, all, Value());
  Value mine = sumsPart.ofColumns
                   ? all
                   : takeGroup(inside, all, sumsPart.queries, keys,
                               /*ofColumns=*/false);
  return fagpu::ProductOp::create(inside, loc, type, fagpu::MatrixForm::nn,
                                  mine, keyColumns, Value());
}

/// Adds it to memory, in the order in which threads hold it.
LogicalResult GradientBlock::storeQueries(OpBuilder &inside, Value sums,
                                          const IRMapping &mapping) {
  Location loc = step.getLoc();
  auto keys = cast<GradientKeysOp>(*step);
  FailureOr<QuerySums> place = QuerySums::resolve(
      inside, step, mapping.lookupOrDefault(keys.getQueryGradient()));
  if (failed(place))
    return failure();
  int64_t elements = sumsPart.getNumElements();
  Value group = role.getGroups() > 1 ? role.getGroup() : Value();
  fagpu::StoreOp::create(
      inside, loc, sums, place->memory,
      place->getOffsets(inside, loc, group, elements),
      inside.getDenseI64ArrayAttr({1, 1, elements}), /*rows=*/Value(),
      /*columns=*/Value(), /*via=*/Value(), /*bank=*/Value(),
      /*alignment=*/16, /*padded=*/false, /*add=*/true, /*transposed=*/false,
      /*fragments=*/true, /*cache=*/fagpu::CachePriorityAttr(),
      addsByWords(step->getParentOfType<func::FuncOp>()));
  return success();
}

/// Moves a product with the weights before the one whose columns it shares, if
/// they are made there: in registers are then the weights or that product.
static void moveForward(Value product, Value other) {
  Operation *position = other.getDefiningOp();
  auto isBefore = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != position->getBlock() ||
           op->isBeforeInBlock(position);
  };
  Value weights = product.getDefiningOp<fagpu::ProductOp>().getA();
  auto rounded = weights.getDefiningOp<arith::TruncFOp>();
  if (!isBefore(rounded ? rounded.getIn() : weights))
    return;
  if (rounded)
    rounded->moveBefore(position);
  product.getDefiningOp()->moveBefore(position);
}

/// One block of columns.
LogicalResult GradientBlock::emitStep(OpBuilder &outside, OpBuilder &inside,
                                      const IRMapping &mapping) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  Value visited = newRanges.getBodyRegion().getArgument(0);
  FailureOr<PairBlock> place =
      getPlace(outside, step, mapping, visited, rowsAreKeys);
  if (failed(place))
    return failure();
  RegionOnBlocks ofGradient(outside, inside, loc, *place);
  FailureOr<Scores> scores =
      emitScores(outside, inside, *place, ofGradient, mapping);
  if (failed(scores))
    return failure();

  auto keys = dyn_cast<GradientKeysOp>(*step);
  bool needsWeights = keys && keys.getValueAccumulator();
  bool needsGradients =
      keys ? bool(keys.getKeyAccumulator()) : !stateTypes.empty();
  bool hasGradients = needsGradients || !scores->additions.empty();
  SmallVector<Value> values;
  if (needsWeights)
    values.push_back(scores->weights);
  if (hasGradients)
    values.push_back(scores->gradients);
  for (const Addition &addition : scores->additions)
    if (addition.values)
      values.push_back(addition.values);
  FailureOr<SmallVector<Value>> hidden = values;
  if (!hidesWeights())
    hidden = hidePairs(outside, inside, *place, mapping, values);
  if (failed(hidden))
    return failure();

  unsigned next = 0;
  if (!scores->additions.empty() &&
      failed(emitAdditions(outside, inside, ofGradient, *scores,
                           (*hidden)[needsWeights ? 1 : 0],
                           ArrayRef(*hidden).drop_front(needsWeights ? 2 : 1))))
    return failure();
  ValueRange state = newRanges.getBodyRegion().getArguments().drop_front(2);
  auto add = [&](Value pairs, Value operand, unsigned number) -> Value {
    return fagpu::ProductOp::create(
        inside, loc, stateTypes[number], fagpu::MatrixForm::nn,
        blocks.truncate(pairs, element), operand, state[number]);
  };
  SmallVector<Value> results(state.size());
  if (needsWeights)
    results.back() =
        add((*hidden)[next++], scores->columnGradients, results.size() - 1);
  if (needsWeights && !hasGroups)
    moveForward(results.back(), scores->product);
  Value ofQueries, rounded;
  if (addsToQueries())
    rounded = blocks.truncate((*hidden)[next], element);
  if (rounded && hasGroups)
    ofQueries = multiplyQueries(inside, rounded);
  if (needsGradients)
    results.front() = add((*hidden)[next++], scores->columns, 0);
  // Warps meet behind the product that needs none of the others.
  if (rounded && !hasGroups)
    ofQueries = multiplyQueries(inside, rounded);
  if (ofQueries && failed(storeQueries(inside, ofQueries, mapping)))
    return failure();
  YieldOp::create(inside, loc, results);
  return success();
}

/// The loop over the query heads of a key head, with the state of a group.
void GradientBlock::rebuildMembers() {
  if (!members)
    return;
  OpBuilder builder(members);
  Blocks blocks(builder, members.getLoc());
  SmallVector<Value> zeros;
  for (RankedTensorType type : stateTypes)
    zeros.push_back(blocks.constant(0.0f, type));
  newMembers =
      scf::ForOp::create(builder, members.getLoc(), members.getLowerBound(),
                         members.getUpperBound(), members.getStep(), zeros);
  members.getInductionVar().replaceAllUsesWith(newMembers.getInductionVar());
  Block *body = newMembers.getBody();
  body->clear();
  for (Operation &op :
       llvm::make_early_inc_range(members.getBody()->without_terminator()))
    op.moveBefore(body, body->end());
}

LogicalResult GradientBlock::rebuildRanges() {
  OpBuilder front(newMembers ? newMembers.getOperation()
                             : ranges.getOperation());
  findGroupRow(front);
  if (failed(fetchRows(front)))
    return failure();
  OpBuilder outside(ranges);
  if (!rowsAreKeys && failed(gatherRowNumbers(outside)))
    return failure();
  Location loc = ranges.getLoc();
  Blocks blocks(outside, loc);
  SmallVector<Value> inits;
  for (auto [number, type] : llvm::enumerate(stateTypes))
    inits.push_back(newMembers ? newMembers.getRegionIterArg(number)
                               : blocks.constant(0.0f, type));
  auto create = [&](auto old) -> BlockRangesOpInterface {
    return decltype(old)::create(outside, loc, old.getBegins(), old.getEnds(),
                                 old.getFull(), old.getStep(), inits, nullptr);
  };
  if (auto keys = dyn_cast<KeyRangesOp>(*ranges))
    newRanges = create(keys);
  else
    newRanges = create(cast<QueryRangesOp>(*ranges));
  newRanges->setDiscardableAttrs(ranges->getDiscardableAttrDictionary());
  outside.setInsertionPoint(newRanges);
  Block &body = newRanges.getBodyRegion().front();
  body.clear();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  Block &old = ranges.getBodyRegion().front();
  IRMapping mapping;
  mapping.map(old.getArguments().take_front(2),
              body.getArguments().take_front(2));
  for (Operation &op : old.without_terminator())
    if (&op != step)
      inside.clone(op, mapping);
  return emitStep(outside, inside, mapping);
}

/// What stood for the whole block's sums is replaced by a group's.
LogicalResult GradientBlock::emitResults() {
  Operation *source = members ? members.getOperation() : ranges.getOperation();
  ValueRange sums =
      members ? ValueRange(newMembers.getResults()) : newRanges->getResults();
  for (auto [old, sum] : llvm::zip_equal(source->getResults(), sums))
    for (Operation *user : llvm::make_early_inc_range(old.getUsers())) {
      auto finalize = dyn_cast<FinalizeGradientOp>(user);
      if (!finalize)
        return user->emitOpError() << "reads the sums of a gradient, expected "
                                      "'fa.finalize_gradient' alone to do so";
      if (failed(GradientResult(finalize).run(sum, element, columns)))
        return failure();
    }
  return success();
}

LogicalResult GradientBlock::run() {
  if (failed(findRole()) || failed(match()) || failed(readProblem()))
    return failure();
  rebuildMembers();
  if (failed(rebuildRanges()))
    return failure();
  if (newMembers) {
    OpBuilder builder = OpBuilder::atBlockEnd(newMembers.getBody());
    scf::YieldOp::create(builder, members.getLoc(), newRanges->getResults());
    members.getBody()->getTerminator()->dropAllReferences();
    members->dropAllReferences();
  }
  if (failed(emitResults()))
    return failure();
  ranges->erase();
  if (members)
    members.erase();
  return success();
}
