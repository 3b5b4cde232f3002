//===- Sizes.cpp - Sizes of tensors, and which are the same ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

SizeList Sizes::get(ImplicitLocOpBuilder &builder, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto it = known.find(tensor);
  if (it != known.end())
    return it->second;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(tensor);
  SizeList sizes;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      sizes.push_back(tensor::DimOp::create(builder, tensor, i).getResult());
    else
      sizes.push_back(builder.getIndexAttr(size));
  return known[tensor] = sizes;
}

void Sizes::record(Value tensor, ArrayRef<OpFoldResult> sizes) {
  known[tensor] = llvm::to_vector(sizes);
}

Value Sizes::getElement(ImplicitLocOpBuilder &builder, Value tensor,
                        int64_t position) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (auto elements = tensor.getDefiningOp<tensor::FromElementsOp>())
    return elements.getElements()[position];
  if (DenseElementsAttr constant;
      matchPattern(tensor, m_Constant(&constant)) &&
      isa<IntegerType, FloatType>(type.getElementType()))
    return arith::ConstantOp::create(
        builder, cast<TypedAttr>(constant.getValues<Attribute>()[position]));
  Value &element = elements[{tensor, position}];
  if (element)
    return element;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(tensor);
  SmallVector<Value> places;
  if (type.getRank() == 1)
    places.push_back(arith::ConstantIndexOp::create(builder, position));
  return element = tensor::ExtractOp::create(builder, tensor, places);
}

Value Sizes::toIndex(ImplicitLocOpBuilder &builder, Value integer) {
  if (integer.getType().isIndex())
    return integer;
  auto cast = integer.getDefiningOp<arith::IndexCastOp>();
  if (cast && cast.getIn().getType().isIndex())
    return cast.getIn();
  if (Value index = indices.lookup(integer))
    return index;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(integer);
  Value index;
  if (auto product = integer.getDefiningOp<arith::MulIOp>())
    index = builder.createOrFold<arith::MulIOp>(
        toIndex(builder, product.getLhs()), toIndex(builder, product.getRhs()));
  else
    index = builder.createOrFold<arith::IndexCastOp>(builder.getIndexType(),
                                                     integer);
  return indices[integer] = index;
}

OpFoldResult Sizes::getIndexOf(ImplicitLocOpBuilder &builder, Value integer) {
  if (APInt constant; matchPattern(integer, m_ConstantInt(&constant)))
    return builder.getIndexAttr(constant.getSExtValue());
  return toIndex(builder, integer);
}

OpFoldResult Sizes::getIndex(ImplicitLocOpBuilder &builder, Value tensor,
                             int64_t position) {
  return getIndexOf(builder, getElement(builder, tensor, position));
}

//===----------------------------------------------------------------------===//
// Which are the same
//===----------------------------------------------------------------------===//

void Sizes::unite(OpFoldResult first, OpFoldResult second) {
  same.unionSets(first.getOpaqueValue(), second.getOpaqueValue());
}

bool Sizes::areSame(OpFoldResult first, OpFoldResult second) const {
  return first == second ||
         same.isEquivalent(first.getOpaqueValue(), second.getOpaqueValue());
}

void Sizes::multiply(Factors &factors, OpFoldResult size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size)) {
    factors.constant *= *constant;
    return;
  }
  auto value = cast<Value>(size);
  if (auto product = value.getDefiningOp<arith::MulIOp>()) {
    multiply(factors, product.getLhs());
    multiply(factors, product.getRhs());
    return;
  }
  factors.others.push_back(size);
}

void Sizes::cancel(Factors &first, Factors &second) const {
  llvm::erase_if(first.others, [&](OpFoldResult size) {
    auto *it = llvm::find_if(second.others, [&](OpFoldResult other) {
      return areSame(size, other);
    });
    if (it == second.others.end())
      return false;
    second.others.erase(it);
    return true;
  });
}
