//===- GradientAdditions.cpp - What a block adds to captures --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of a score's gradient says what is added to gradients of captures,
// and the products what to that of the scale. Read `collectAdditions`, then
// `emitAdditions`.
//
//===----------------------------------------------------------------------===//

#include "GradientBlock.h"
#include "IndexWidths.h"
#include "Multiples.h"
#include "fa/Target/OrderedSums.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

GradientBlock::AddedTo GradientBlock::getAddedTo() {
  auto get = [](auto of) -> AddedTo {
    return {of.getDifferentiated(), of.getCaptureGradients(),
            of.getScaleGradient()};
  };
  if (auto keys = dyn_cast<GradientKeysOp>(*step))
    return get(keys);
  return get(cast<GradientQueriesOp>(*step));
}

bool GradientBlock::addsToCaptures() {
  AddedTo added = getAddedTo();
  return !added.gradients.empty() || added.scale;
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
    int64_t capture = block.op.getCaptureNumber();
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

/// Where a dimension of memory that a block adds to ends: at 0 where another
/// index of the block, which all of its pairs share, is out of bounds.
Value GradientBlock::getSumEnd(OpBuilder &outside, const Addition &addition,
                               int64_t dim, bool isGuarded) {
  Location loc = step.getLoc();
  auto type = cast<MemRefType>(addition.memory.getType());
  auto getSize = [&](int64_t of) -> Value {
    return memref::DimOp::create(outside, loc, addition.memory, of);
  };
  Value end = Blocks(outside, loc).cast32(getSize(dim));
  if (!isGuarded)
    return end;
  Value zero = arith::ConstantIntOp::create(outside, loc, 0, 32);
  for (auto [of, index] :
       llvm::enumerate(ArrayRef(addition.place).drop_back())) {
    std::optional<int64_t> known = getConstantIntValue(index);
    int64_t size = type.getDimSize(of);
    if (static_cast<int64_t>(of) == dim ||
        (known && !ShapedType::isDynamic(size) && *known < size))
      continue;
    Value isIn = arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::ult,
                                       index, getSize(of));
    end = arith::SelectOp::create(outside, loc, isIn, end, zero);
  }
  return end;
}

/// A box of the memory, which ends where that does. A gradient takes it whole,
/// by a bulk store; to f32, which other blocks add to as well, threads add.
void GradientBlock::storePairs(OpBuilder &outside, OpBuilder &inside,
                               const Addition &addition, Value values) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto type = cast<MemRefType>(addition.memory.getType());
  bool adds = type.getElementType().isF32();
  SmallVector<Value> offsets;
  for (Value offset : addition.place)
    offsets.push_back(blocks.cast32(offset));
  SmallVector<int64_t> box(type.getRank(), 1);
  box[addition.queryDim] = rowsAreKeys ? columns : rows;
  box.back() = rowsAreKeys ? rows : columns;
  Value rowEnd, columnEnd;
  int64_t alignment = 16;
  if (adds) {
    rowEnd =
        getSumEnd(outside, addition, addition.queryDim, /*isGuarded=*/true);
    columnEnd =
        getSumEnd(outside, addition, type.getRank() - 1, /*isGuarded=*/false);
    // Rows are aligned, blocks of keys that start anywhere are not.
    constexpr int64_t bytes = 4;
    if (!isMultipleOf(addition.place.back(), alignment / bytes))
      alignment = bytes;
  }
  fagpu::StoreOp::create(
      inside, loc, blocks.truncate(values, type.getElementType()),
      addition.memory, offsets, inside.getDenseI64ArrayAttr(box), rowEnd,
      columnEnd, /*via=*/Value(), /*bank=*/Value(), alignment,
      /*padded=*/!adds, adds,
      /*transposed=*/rowsAreKeys, /*fragments=*/false,
      /*cache=*/fagpu::CachePriorityAttr());
}

/// Adds to elements that no other thread adds to.
LogicalResult GradientBlock::addOrdered(RegionOnBlocks &region,
                                        OpBuilder &outside,
                                        const Addition &addition, Value added) {
  Location loc = step.getLoc();
  RegionOnBlocks::OrderedPlace place{addition.leading, Value()};
  if (role.getGroups() > 1)
    place.firstWarp =
        multiplyShort(outside, loc, role.getGroup(),
                      arith::ConstantIntOp::create(outside, loc, warps, 32));
  else
    place.firstWarp = arith::ConstantIntOp::create(outside, loc, 0, 32);
  return region.add(added, addition.memory, addition.indices, &place);
}

/// `hidden` are the gradients of the scores that the mask leaves, and `values`
/// what it leaves of those of the additions that have any.
LogicalResult GradientBlock::emitAdditions(OpBuilder &outside,
                                           OpBuilder &inside,
                                           RegionOnBlocks &region,
                                           const Scores &scores, Value hidden,
                                           ValueRange values) {
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
    if (!addition.place.empty()) {
      storePairs(outside, inside, addition, added);
      continue;
    }
    LogicalResult isAdded =
        step->hasAttr(orderedSumsAttrName)
            ? addOrdered(region, outside, addition, added)
            : region.add(added, addition.memory, addition.indices);
    if (failed(isAdded))
      return failure();
  }
  return success();
}
