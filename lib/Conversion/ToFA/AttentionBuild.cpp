//===- AttentionBuild.cpp - The attention that a proof gives --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the operands, the scale and the regions of a matched attention, and
// what comes behind it: NaN for rows without keys, the shape of the root, and
// logarithms of the sums. Begin with `build`, at the end; `markEmptyRows` and
// `replaceLogSumExps` are its last steps.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::fa;

static Value createEmpty(OpBuilder &builder, Location loc,
                         ArrayRef<Extent> shape, Type elementType,
                         ExtentReader &extents) {
  SmallVector<OpFoldResult> sizes;
  for (const Extent &extent : shape)
    sizes.push_back(extents.materializeMixed(builder, loc, extent));
  return tensor::EmptyOp::create(builder, loc, sizes, elementType);
}

/// NaN for the rows that saw no key: `row` is the place of an element in `lse`.
static Value markEmptyRows(OpBuilder &builder, Location loc, Value output,
                           Value lse, AffineMap row) {
  auto type = cast<RankedTensorType>(output.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps{row, identity};
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, ValueRange{lse}, ValueRange{output}, maps, loops,
      [&](OpBuilder &nested, Location at, ValueRange values) {
        auto constant = [&](APFloat value, Type ofType) -> Value {
          bool loses;
          value.convert(cast<FloatType>(ofType).getFloatSemantics(),
                        APFloat::rmNearestTiesToEven, &loses);
          return arith::ConstantOp::create(nested, at,
                                           FloatAttr::get(ofType, value));
        };
        const llvm::fltSemantics &single = APFloat::IEEEsingle();
        Value least = constant(APFloat::getInf(single, /*Negative=*/true),
                               values[0].getType());
        Value nan = constant(APFloat::getQNaN(single), values[1].getType());
        Value isEmpty = arith::CmpFOp::create(
            nested, at, arith::CmpFPredicate::OEQ, values[0], least);
        Value element =
            arith::SelectOp::create(nested, at, isEmpty, nan, values[1]);
        linalg::YieldOp::create(nested, at, element);
      });
  return generic.getResult(0);
}

/// Logarithms times a number, in a type of their own.
static Value convertLogarithms(OpBuilder &builder, Location loc, Value lse,
                               double factor, Type elementType) {
  auto type = cast<RankedTensorType>(lse.getType());
  if (factor == 1 && type.getElementType() == elementType)
    return lse;
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, lse), elementType);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps{identity, identity};
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange{lse}, ValueRange{empty}, maps,
      loops, [&](OpBuilder &nested, Location at, ValueRange values) {
        Value element = values[0];
        if (factor != 1) {
          // Exact for an evaluation in float64.
          Value wide = arith::ConstantOp::create(
              nested, at, nested.getF64FloatAttr(factor));
          Value number =
              arith::TruncFOp::create(nested, at, element.getType(), wide);
          element = arith::MulFOp::create(nested, at, element, number);
        }
        if (element.getType() != elementType)
          element = arith::TruncFOp::create(nested, at, elementType, element);
        linalg::YieldOp::create(nested, at, element);
      });
  return generic.getResult(0);
}

/// The place in the logarithms of an output's element.
static AffineMap getRow(DimsAttr order) {
  SmallVector<AffineExpr> row;
  for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence})
    row.push_back(getAffineDimExpr(order.positionOf(kind), order.getContext()));
  return AffineMap::get(4, 0, row, order.getContext());
}

/// Each tensor of logarithms becomes the attention's second result, and what
/// reads it comes behind.
void AttentionMatch::replaceLogSumExps(OpBuilder &builder,
                                       AttentionOp attention) {
  Location loc = attention.getLoc();
  for (LogSumExp &match : logSumExps) {
    Value lse = attention->getResult(1);
    if (match.isNaNWithoutKeys)
      lse = markEmptyRows(builder, loc, lse, lse,
                          builder.getMultiDimIdentityMap(3));
    Type element = getElementTypeOrSelf(match.tensor.getType());
    lse = convertLogarithms(builder, loc, lse, match.factor, element);
    // With a head dim of 1, in the order of the tensor's dims.
    ArrayRef<int64_t> order =
        match.shape.getOrder(builder.getContext()).getOrder();
    SmallVector<int64_t> permutation;
    SmallVector<Extent> moved;
    SmallVector<ReassociationIndices> groups;
    for (auto [position, kind] : llvm::enumerate(order)) {
      if (DimKind(kind) == DimKind::HeadDim) {
        // Joins the dim before it, or the first one.
        if (position != 0)
          groups.back().push_back(position);
        continue;
      }
      ReassociationIndices &group = groups.emplace_back();
      if (groups.size() == 1 && position == 1)
        group.push_back(0);
      group.push_back(position);
      moved.push_back(match.shape.getShape()[position]);
      int64_t from = DimKind(kind) == DimKind::Batch   ? 0
                     : DimKind(kind) == DimKind::Heads ? 1
                                                       : 2;
      permutation.push_back(from);
    }
    if (!isIdentityPermutation(permutation)) {
      Value empty = createEmpty(builder, loc, moved, element, extents);
      lse = linalg::TransposeOp::create(builder, loc, lse, empty, permutation)
                ->getResult(0);
    }
    SmallVector<OpFoldResult> sizes;
    SmallVector<int64_t> staticSizes;
    for (const Extent &extent : match.shape.getShape()) {
      sizes.push_back(extents.materializeMixed(builder, loc, extent));
      staticSizes.push_back(extent.isStatic() ? extent.getStatic()
                                              : ShapedType::kDynamic);
    }
    lse = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(staticSizes, element), lse, groups,
        sizes);
    lse = match.shape.applyInverse(builder, loc, lse, match.tensor.getType(),
                                   extents);
    match.tensor.replaceAllUsesWith(lse);
  }
  for (Operation *op : movedUsers)
    op->moveBefore(root.getDefiningOp());
}

void AttentionMatch::build(ElementReader &reader, const SoftmaxMatch &match,
                           RegionEmitter &scoreEmitter,
                           RegionEmitter &maskEmitter) {
  Operation *def = root.getDefiningOp();
  OpBuilder builder(def);
  Location loc = second.getLoc();
  Value q = queryShape->apply(builder, loc, query->tensor, extents);
  Value k = keyShape->apply(builder, loc, key->tensor, extents);
  Value v = valueShape->apply(builder, loc, value->tensor, extents);

  Value scale;
  auto multiply = [&](Value number) {
    scale = scale ? arith::MulFOp::create(builder, loc, scale, number) : number;
  };
  DenseMap<const Node *, Value> emitted;
  for (const Node *factor : factors)
    multiply(RegionEmitter::emitUniform(builder, loc, factor, emitted));
  if (!scale)
    scale =
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0));
  for (const Node *number : divisors)
    scale = arith::DivFOp::create(
        builder, loc, scale,
        RegionEmitter::emitUniform(builder, loc, number, emitted));

  Type element = getElementTypeOrSelf(root.getType());
  Value output =
      createEmpty(builder, loc, rootShape->getShape(), element, extents);
  SmallVector<Type> results{output.getType()};
  DimsAttr order = rootShape->getOrder(builder.getContext());
  Value lse;
  if (match.isNaNWithoutKeys || !logSumExps.empty()) {
    SmallVector<Extent> rows;
    for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence})
      rows.push_back(rootShape->getShape()[order.positionOf(kind)]);
    lse = createEmpty(builder, loc, rows, builder.getF32Type(), extents);
    results.push_back(lse.getType());
  }
  // The order that an operand has without a word is not named.
  auto getAttribute = [&](const std::optional<OperandShape> &shape) {
    DimsAttr dims = shape->getOrder(builder.getContext());
    return dims.isDefault() ? DimsAttr() : dims;
  };
  bool hasScore = match.score != match.scaled;
  auto getCaptures = [](RegionEmitter &emitter, bool isThere) {
    return isThere ? SmallVector<Value>(emitter.getCaptures())
                   : SmallVector<Value>();
  };
  auto attention = AttentionOp::create(
      builder, loc, results, q, k, v, scale, /*query_lengths=*/Value(),
      /*key_lengths=*/Value(), /*query_starts=*/Value(),
      /*key_starts=*/Value(), /*key_pages=*/Value(), /*offsets=*/ValueRange(),
      /*extents=*/ValueRange(), getCaptures(scoreEmitter, hasScore),
      getCaptures(maskEmitter, match.mask != nullptr),
      /*sink_captures=*/ValueRange(), output, lse, getAttribute(queryShape),
      getAttribute(keyShape), getAttribute(valueShape), getAttribute(rootShape),
      ConfigAttr(), /*batch_invariant=*/UnitAttr());
  if (hasScore)
    scoreEmitter.emit(attention.getScore(), match.score, match.scaled, loc);
  if (match.mask)
    maskEmitter.emit(attention.getMask(), match.mask, nullptr, loc);
  Value result = attention->getResult(0);
  if (match.isNaNWithoutKeys)
    result = markEmptyRows(builder, loc, result, attention->getResult(1),
                           getRow(order));
  result =
      rootShape->applyInverse(builder, loc, result, root.getType(), extents);
  root.replaceAllUsesWith(result);
  replaceLogSumExps(builder, attention);
}
