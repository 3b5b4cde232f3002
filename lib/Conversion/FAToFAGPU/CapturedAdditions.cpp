//===- CapturedAdditions.cpp - Gradients of captures on block values ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pairs of a block add to gradients of captures. Their indices say
// what is summed up before: all that a warp holds, or its rows.
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "fa/Dialect/FAGPU/IR/OwnedSums.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult RegionOnBlocks::add(Value values, Value memory,
                                  ArrayRef<Value> indices,
                                  const OrderedPlace *ordered) {
  SmallVector<Value> leading;
  if (ordered)
    for (Value index : ordered->indices)
      leading.push_back(arith::IndexCastOp::create(
          outside, loc, outside.getI32Type(), index));
  Places places = locate(memory, indices, /*ofRows=*/true,
                         /*firstDim=*/leading.size());
  Value mask = places.mask;
  if (ordered && places.kind == Kind::Scalar && leading.empty())
    return emitError(loc)
           << "a whole block adds to one element of " << memory.getType()
           << ", expected a dimension of warps in front of an ordered sum";
  if (places.kind == Kind::Scalar) {
    auto type = RankedTensorType::get(
        {place.warps}, inside.getF32Type(),
        fagpu::WarpLayoutAttr::get(inside.getContext(), place.warps));
    values = fagpu::ReduceOp::create(inside, loc, type,
                                     fagpu::ReductionKind::add, values);
    if (places.inBounds)
      mask = tensor::SplatOp::create(outside, loc, places.inBounds,
                                     type.clone(outside.getI1Type()));
    if (ordered) {
      RankedTensorType numbers = type.clone(outside.getI32Type());
      leading.front() = arith::AddIOp::create(
          outside, loc,
          fagpu::IotaOp::create(outside, loc, numbers, 0,
                                fagpu::IndexPart::all),
          tensor::SplatOp::create(outside, loc, ordered->firstWarp, numbers));
    }
  } else if (places.kind == Kind::Row) {
    values = fagpu::ReduceOp::create(inside, loc,
                                     typeOf(Kind::Row, inside.getF32Type()),
                                     fagpu::ReductionKind::add, values);
  }
  // A tile without pairs visits a block of hidden ones, where others have
  // elements: 0 is not added.
  if (ordered && places.kind != Kind::Scalar) {
    auto type = cast<RankedTensorType>(values.getType());
    Value zeros =
        arith::ConstantOp::create(inside, loc, inside.getZeroAttr(type));
    Value isAny = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::UNE,
                                        values, zeros);
    mask = mask ? arith::AndIOp::create(inside, loc, mask, isAny).getResult()
                : isAny;
  }
  llvm::append_range(leading, places.indices);
  auto sum =
      fagpu::ScatterAddOp::create(inside, loc, values, memory, leading, mask);
  if (ordered)
    sum->setAttr(fagpu::ownedAttrName, inside.getUnitAttr());
  return success();
}
