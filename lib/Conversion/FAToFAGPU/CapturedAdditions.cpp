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

using namespace mlir;
using namespace mlir::fa;

void RegionOnBlocks::add(Value values, Value memory, ArrayRef<Value> indices) {
  Places places = locate(memory, indices, /*ofRows=*/true);
  Value mask = places.mask;
  if (places.kind == Kind::Scalar) {
    auto type = RankedTensorType::get(
        {place.warps}, inside.getF32Type(),
        fagpu::WarpLayoutAttr::get(inside.getContext(), place.warps));
    values = fagpu::ReduceOp::create(inside, loc, type,
                                     fagpu::ReductionKind::add, values);
    if (places.inBounds)
      mask = tensor::SplatOp::create(outside, loc, places.inBounds,
                                     type.clone(outside.getI1Type()));
  } else if (places.kind == Kind::Row) {
    values = fagpu::ReduceOp::create(inside, loc,
                                     typeOf(Kind::Row, inside.getF32Type()),
                                     fagpu::ReductionKind::add, values);
  }
  fagpu::ScatterAddOp::create(inside, loc, values, memory, places.indices,
                              mask);
}
