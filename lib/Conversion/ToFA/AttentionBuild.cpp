//===- AttentionBuild.cpp - The attention that a proof gives --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the operands, the scale and the regions of a matched attention, and
// what comes behind it: NaN for rows without keys, and the shape of the root.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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

/// NaN for the rows that saw no key.
static Value markEmptyRows(OpBuilder &builder, Location loc, Value output,
                           Value lse, DimsAttr order) {
  MLIRContext *context = builder.getContext();
  auto type = cast<RankedTensorType>(output.getType());
  SmallVector<AffineExpr> row;
  for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence})
    row.push_back(builder.getAffineDimExpr(order.positionOf(kind)));
  AffineMap identity = builder.getMultiDimIdentityMap(4);
  SmallVector<AffineMap> maps{AffineMap::get(4, 0, row, context), identity};
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
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
  if (match.isNaNWithoutKeys) {
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
      /*key_lengths=*/Value(), /*offsets=*/ValueRange(),
      /*extents=*/ValueRange(), getCaptures(scoreEmitter, hasScore),
      getCaptures(maskEmitter, match.mask != nullptr), output, lse,
      getAttribute(queryShape), getAttribute(keyShape),
      getAttribute(valueShape), getAttribute(rootShape), ConfigAttr());
  if (hasScore)
    scoreEmitter.emit(attention.getScore(), match.score, match.scaled, loc);
  if (match.mask)
    maskEmitter.emit(attention.getMask(), match.mask, nullptr, loc);
  Value result = attention->getResult(0);
  if (lse)
    result =
        markEmptyRows(builder, loc, result, attention->getResult(1), order);
  result =
      rootShape->applyInverse(builder, loc, result, root.getType(), extents);
  root.replaceAllUsesWith(result);
}
