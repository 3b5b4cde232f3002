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
// the state are queries or keys; both steps are one text.
//
//===----------------------------------------------------------------------===//

#include "GradientBlock.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "SoftmaxStep.h"
#include "fa/Target/OrderedSums.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/Support/MathExtras.h"

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

Value GradientBlock::getDelta() {
  if (auto keys = dyn_cast<GradientKeysOp>(*step))
    return keys.getDelta();
  return cast<GradientQueriesOp>(*step).getDelta();
}

GradientBlock::Operands GradientBlock::getOperands() {
  Operand query = {step.getQuery(), step.getQueryOrder()};
  Operand key = {step.getKey(), step.getKeyOrder()};
  Operand value = {step.getValue(), step.getValueOrder()};
  Operand gradient = {step.getOutputGradient(), step.getOutputGradientOrder()};
  if (rowsAreKeys)
    return {key, query, value, gradient};
  return {query, key, gradient, value};
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

GradientBlock::AddedTo GradientBlock::getAddedTo() {
  auto get = [](auto of) -> AddedTo {
    return {of.getDifferentiated(), of.getCaptureGradients(),
            of.getScaleGradient()};
  };
  if (auto keys = dyn_cast<GradientKeysOp>(*step))
    return get(keys);
  return get(cast<GradientQueriesOp>(*step));
}

bool GradientBlock::addsToQueries() {
  auto keys = dyn_cast<GradientKeysOp>(*step);
  return keys && keys.getQueryGradient();
}

/// The group's rows, or its columns, of a block.
Value GradientBlock::takeGroup(OpBuilder &builder, Value block, int64_t rows,
                               int64_t columns, bool ofColumns) {
  Location loc = step.getLoc();
  Value size = arith::ConstantIntOp::create(builder, loc,
                                            ofColumns ? columns : rows, 32);
  OpFoldResult first =
      getAsOpFoldResult(arith::IndexCastOp::create(
                            builder, loc, builder.getIndexType(),
                            multiplyShort(builder, loc, role.getGroup(), size))
                            .getResult());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto type = cast<RankedTensorType>(block.getType());
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone({rows, columns}), block,
      ArrayRef<OpFoldResult>{ofColumns ? zero : first,
                             ofColumns ? first : zero},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(rows),
                             builder.getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{one, one});
}

/// The gradient of queries sums over the keys of all groups.
LogicalResult GradientBlock::fetchKeys(OpBuilder &front) {
  Operand keys = getOperands().rows;
  int64_t groups = role.getGroups();
  FailureOr<Value> fetched =
      fetch(front, step, keys.memory, keys.order, rows * groups, std::nullopt);
  if (failed(fetched))
    return failure();
  allKeys = *fetched;
  int64_t headDim = cast<RankedTensorType>(allKeys.getType()).getDimSize(1);
  FailureOr<QuerySumsPart> part =
      QuerySumsPart::get(step, columns, headDim, groups);
  if (failed(part))
    return failure();
  sumsPart = *part;
  keyColumns = allKeys;
  if (!hasGroups) {
    rowTile = allKeys;
    return success();
  }
  rowTile = takeGroup(front, allKeys, rows, headDim, /*ofColumns=*/false);
  if (sumsPart.ofColumns)
    keyColumns = takeGroup(front, allKeys, rows * groups, sumsPart.columns,
                           /*ofColumns=*/true);
  return success();
}

/// What all blocks of columns are multiplied by, in front of all loops.
LogicalResult GradientBlock::fetchRows(OpBuilder &front) {
  Operands operands = getOperands();
  if (addsToQueries() && failed(fetchKeys(front)))
    return failure();
  for (auto [operand, tile] :
       {std::pair(operands.rows, &rowTile),
        std::pair(operands.rowGradients, &rowGradientTile)}) {
    if (*tile)
      continue;
    FailureOr<Value> fetched = fetch(front, step, operand.memory, operand.order,
                                     rows, std::nullopt, groupRow);
    if (failed(fetched))
      return failure();
    *tile = *fetched;
  }
  return success();
}

/// Numbers of rows that are queries.
LogicalResult GradientBlock::gatherRowNumbers(OpBuilder &outside) {
  Location loc = step.getLoc();
  Blocks blocks(outside, loc);
  Type i32 = outside.getI32Type();
  RankedTensorType indexType = rowType.clone(i32);
  // Sums over rows have nothing of those behind the last one: their weights
  // are 0.
  auto gather = [&](Value numbers, float behind) -> FailureOr<Value> {
    FailureOr<Tile> tile = resolve(outside, step, numbers);
    if (failed(tile))
      return failure();
    Value end = blocks.cast32(getEnd(outside, *tile, 2));
    shift(outside, tile->offsets[2], groupRow);
    Value first = blocks.splat(blocks.cast32(tile->offsets[2]), indexType);
    Value row =
        arith::AddIOp::create(outside, loc,
                              fagpu::IotaOp::create(outside, loc, indexType, 0,
                                                    fagpu::IndexPart::all),
                              first);
    Value isBelow =
        arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::slt, row,
                              blocks.splat(end, indexType));
    SmallVector<Value> indices = {blocks.cast32(tile->offsets[0]),
                                  blocks.cast32(tile->offsets[1]), row};
    Value gathered = fagpu::GatherOp::create(
        outside, loc, rowType, tile->memory, indices, isBelow, /*pairs=*/false,
        /*in_order=*/false);
    if (behind == 0.0f || !addsToCaptures())
      return gathered;
    return blocks.select(isBelow, gathered, blocks.constant(behind, rowType));
  };
  FailureOr<Value> references = gather(step.getLse(), infinity);
  FailureOr<Value> deltas = gather(getDelta(), 0.0f);
  if (failed(references) || failed(deltas))
    return failure();
  rowReferences = *references;
  rowDeltas = *deltas;
  return success();
}

/// Numbers of queries at the pairs of the block: of rows, or brought for each
/// block of columns.
FailureOr<Value> GradientBlock::spreadNumbers(OpBuilder &inside, Value numbers,
                                              Value ofRows,
                                              const IRMapping &mapping) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  if (!rowsAreKeys)
    return blocks.broadcast(ofRows, scoreType);
  FailureOr<Tile> tile =
      resolve(inside, step, mapping.lookupOrDefault(numbers));
  if (failed(tile))
    return failure();
  SmallVector<Value> offsets;
  for (Value offset : tile->offsets)
    offsets.push_back(blocks.cast32(offset));
  auto type = RankedTensorType::get(
      {columns}, inside.getF32Type(),
      fagpu::ColumnLayoutAttr::get(inside.getContext(), warps));
  // The memory is whole blocks, as fa-tile-gradient makes it. Threads that copy
  // for themselves read the numbers of their own columns.
  if (!hasGroups) {
    RankedTensorType indexType = type.clone(inside.getI32Type());
    offsets.back() = arith::AddIOp::create(
        inside, loc,
        fagpu::IotaOp::create(inside, loc, indexType, 0, fagpu::IndexPart::all),
        blocks.splat(offsets.back(), indexType));
    return blocks.broadcast(
        fagpu::GatherOp::create(inside, loc, type, tile->memory, offsets,
                                /*mask=*/Value(), /*pairs=*/true,
                                /*in_order=*/false),
        scoreType);
  }
  Value fetched = fagpu::FetchOp::create(
      inside, loc, type, tile->memory, offsets,
      ArrayRef<int64_t>{1, 1, columns},
      /*rows=*/Value(), /*columns=*/Value(), /*alignment=*/16,
      /*padded=*/false);
  return blocks.broadcast(fetched, scoreType);
}

/// exp(scores - lse), in base 2: a factor of the scores joins that of the base.
Value GradientBlock::weigh(OpBuilder &outside, OpBuilder &inside, Value scores,
                           Value reference) {
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
  result.weights = weigh(outside, inside, scores, *references);
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

/// A slice at one index of the first dimension, which it drops; null for other
/// memory.
static memref::SubViewOp getLeadingSlice(Value memory) {
  auto slice = memory.getDefiningOp<memref::SubViewOp>();
  if (!slice || !slice.getDroppedDims().test(0) ||
      slice.getDroppedDims().count() != 1)
    return {};
  auto offsets = slice.getMixedOffsets();
  bool isWhole =
      llvm::all_of(ArrayRef(offsets).drop_front(),
                   [](OpFoldResult at) { return isConstantIntValue(at, 0); });
  return isWhole ? slice : memref::SubViewOp();
}

/// Memory of the kernel that a block adds to.
LogicalResult GradientBlock::resolveSum(Value gradient,
                                        const IRMapping &mapping,
                                        Addition &addition) {
  Value memory = mapping.lookupOrDefault(gradient);
  for (;;) {
    if (auto cast = memory.getDefiningOp<memref::CastOp>()) {
      memory = cast.getSource();
      continue;
    }
    memref::SubViewOp slice = getLeadingSlice(memory);
    if (!slice || !step->hasAttr(orderedSumsAttrName))
      break;
    OpBuilder builder(slice);
    addition.leading.insert(
        addition.leading.begin(),
        getValueOrCreateConstantIndexOp(builder, slice.getLoc(),
                                        slice.getMixedOffsets().front()));
    memory = slice.getSource();
  }
  addition.memory = memory;
  if (isa<BlockArgument>(memory))
    return success();
  return step.emitOpError() << "adds to memory of type " << memory.getType()
                            << " that is no argument of the kernel";
}

/// Whether a number is finite, as integers and what few operations make of
/// them are.
static bool isFinite(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op))
    return true;
  DenseFPElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return llvm::all_of(
        constant.getValues<APFloat>(),
        [](const APFloat &number) { return number.isFinite(); });
  return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                         arith::NegFOp, math::AbsFOp, fagpu::BroadcastOp,
                         tensor::SplatOp>(op) &&
         llvm::all_of(op->getOperands(), isFinite);
}

/// Whether a value is `of` times what is finite, so that it is 0 where `of` is.
static bool isMultiple(Value value, Value of) {
  if (value == of)
    return true;
  if (auto negated = value.getDefiningOp<arith::NegFOp>())
    return isMultiple(negated.getOperand(), of);
  auto product = value.getDefiningOp<arith::MulFOp>();
  return product && isMultiple(product.getLhs(), of) &&
         isFinite(product.getRhs());
}

/// Such a multiple of another value.
static Value makeMultiple(OpBuilder &builder, Value value, Value of,
                          Value other) {
  if (value == of)
    return other;
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  mapping.map(op->getOperand(0),
              makeMultiple(builder, op->getOperand(0), of, other));
  return builder.clone(*op, mapping)->getResult(0);
}

/// Where a block of pairs is in memory that takes boxes.
LogicalResult GradientBlock::findPlace(ScatterGradientOp scatter,
                                       int64_t capture, const PairBlock &place,
                                       OpBuilder &inside, Addition &addition) {
  auto boxes = step->getAttrOfType<DenseI64ArrayAttr>(captureBoxesAttrName);
  if (!boxes || !llvm::is_contained(boxes.asArrayRef(), capture)) {
    Type element = cast<MemRefType>(addition.memory.getType()).getElementType();
    if (element.isF32())
      return success();
    return step.emitOpError()
           << "adds to memory of " << element << ", expected f32, or boxes in "
           << captureBoxesAttrName;
  }
  Block &body = step.getScoreGradient().front();
  Value ofPairs[] = {place.batch, place.head, place.query, place.key};
  for (auto [dim, index] : llvm::enumerate(scatter.getIndices())) {
    Value at;
    for (unsigned number = 0; number < 4; ++number)
      if (index == body.getArgument(2 + number))
        at = ofPairs[number];
    if (index == body.getArgument(4))
      addition.queryDim = static_cast<int64_t>(dim);
    if (!at && isSmallConstant(index))
      at = arith::ConstantIndexOp::create(inside, step.getLoc(),
                                          *getConstantIntValue(index));
    if (!at)
      return step.emitOpError()
             << "has " << captureBoxesAttrName << " = " << boxes
             << ", but index " << dim << " of capture " << capture
             << " is none of batch, head, query, key and constants";
    addition.place.push_back(at);
  }
  return success();
}

/// The gradients of the scores, behind the region, and what that adds to
/// gradients of captures.
LogicalResult GradientBlock::collectAdditions(
    OpBuilder &inside, const PairBlock &place, RegionOnBlocks &region,
    const IRMapping &mapping, Value scaled, Value product, Scores &scores) {
  SmallVector<ScatteredBlock> scattered;
  if (!step.getScoreGradient().empty()) {
    SmallVector<Value> captures;
    for (Value capture : step.getScoreCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> changed =
        region.apply(step.getScoreGradient(), {scores.gradients, scaled},
                     captures, /*second=*/nullptr, &scattered);
    if (failed(changed))
      return failure();
    scores.gradients = *changed;
  }
  auto [numbers, gradients, ofScale] = getAddedTo();
  for (ScatteredBlock &block : scattered) {
    int64_t capture =
        cast<BlockArgument>(block.op.getCapture()).getArgNumber() - 6;
    const auto *found = llvm::find(numbers, capture);
    if (found == numbers.end())
      continue;
    Addition addition{Value(), std::move(block.indices), block.values, Value()};
    if (failed(resolveSum(gradients[found - numbers.begin()], mapping,
                          addition)) ||
        failed(findPlace(block.op, capture, place, inside, addition)))
      return failure();
    // Where the mask hides a pair its gradient is 0, and so are multiples.
    if (isMultiple(block.values, scores.gradients))
      std::swap(addition.values, addition.multiple);
    scores.additions.push_back(std::move(addition));
  }
  if (!ofScale)
    return success();
  Addition ofProducts{Value(), {}, Value(), Value()};
  if (failed(resolveSum(ofScale, mapping, ofProducts)))
    return failure();
  ofProducts.factors = product;
  scores.additions.push_back(std::move(ofProducts));
  return success();
}

/// A box of the memory, which ends where that does.
void GradientBlock::storePairs(OpBuilder &inside, const Addition &addition,
                               Value values) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto type = cast<MemRefType>(addition.memory.getType());
  SmallVector<Value> offsets;
  for (Value offset : addition.place)
    offsets.push_back(blocks.cast32(offset));
  SmallVector<int64_t> box(type.getRank(), 1);
  box[addition.queryDim] = rowsAreKeys ? columns : rows;
  box.back() = rowsAreKeys ? rows : columns;
  fagpu::StoreOp::create(
      inside, loc, blocks.truncate(values, type.getElementType()),
      addition.memory, offsets, inside.getDenseI64ArrayAttr(box),
      /*rows=*/Value(), /*columns=*/Value(),
      /*via=*/Value(), /*bank=*/Value(), /*alignment=*/16, /*padded=*/true,
      /*add=*/false,
      /*transposed=*/rowsAreKeys, /*fragments=*/false,
      /*cache=*/fagpu::CachePriorityAttr());
}

/// Adds to elements that no other thread adds to.
void GradientBlock::addOrdered(RegionOnBlocks &region, OpBuilder &outside,
                               const Addition &addition, Value added) {
  Location loc = step.getLoc();
  RegionOnBlocks::OrderedPlace place{addition.leading, Value()};
  if (role.getGroups() > 1)
    place.firstWarp =
        multiplyShort(outside, loc, role.getGroup(),
                      arith::ConstantIntOp::create(outside, loc, warps, 32));
  else
    place.firstWarp = arith::ConstantIntOp::create(outside, loc, 0, 32);
  region.add(added, addition.memory, addition.indices, &place);
}

/// `hidden` are the gradients of the scores that the mask leaves, and `values`
/// what it leaves of those of the additions that have any.
void GradientBlock::emitAdditions(OpBuilder &outside, OpBuilder &inside,
                                  RegionOnBlocks &region, const Scores &scores,
                                  Value hidden, ValueRange values) {
  for (const Addition &addition : scores.additions) {
    Value added = hidden;
    if (addition.values) {
      added = values.front();
      values = values.drop_front();
    } else if (addition.multiple) {
      added = makeMultiple(inside, addition.multiple, scores.gradients, hidden);
    }
    if (addition.factors)
      added =
          arith::MulFOp::create(inside, step.getLoc(), added, addition.factors);
    if (!addition.place.empty())
      storePairs(inside, addition, added);
    else if (step->hasAttr(orderedSumsAttrName))
      addOrdered(region, outside, addition, added);
    else
      region.add(added, addition.memory, addition.indices);
  }
}

bool GradientBlock::addsToCaptures() {
  AddedTo added = getAddedTo();
  return !added.gradients.empty() || added.scale;
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
      /*fragments=*/true, /*cache=*/fagpu::CachePriorityAttr());
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
  if (!scores->additions.empty())
    emitAdditions(outside, inside, ofGradient, *scores,
                  (*hidden)[needsWeights ? 1 : 0],
                  ArrayRef(*hidden).drop_front(needsWeights ? 2 : 1));
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
