//===- ComputedRows.cpp - Rows of a block that are computed ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComputedRows.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

OpFoldResult mlir::fa::countComputedRows(OpBuilder &builder, Location loc,
                                         ConfigAttr config, int64_t most,
                                         OpFoldResult count) {
  auto cpu = dyn_cast_if_present<CPUConfigAttr>(config.getTarget());
  if (!cpu || getConstantIntValue(count))
    return builder.getIndexAttr(most);
  int64_t tile = cpu.getLanes() * cpu.getRegisterVectors();
  // Of a block of parts of tiles none would be whole.
  if (most % tile)
    return builder.getIndexAttr(most);
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  auto rows = AffineMap::get(
      0, 1, {builder.getAffineConstantExpr(most), s0.ceilDiv(tile) * tile},
      builder.getContext());
  return affine::makeComposedFoldedAffineMin(builder, loc, rows, {count});
}

/// What a loop carries first, or what a fill writes to.
static Value getOrigin(Value state) {
  if (auto carried = dyn_cast<BlockArgument>(state)) {
    auto loop = dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp());
    bool isCarried = loop && carried != loop.getInductionVar();
    return isCarried ? loop.getTiedLoopInit(carried)->get() : Value();
  }
  if (auto loop = state.getDefiningOp<scf::ForOp>())
    return loop.getTiedLoopInit(cast<OpResult>(state))->get();
  auto fill = state.getDefiningOp<linalg::FillOp>();
  return fill ? fill.getOutputs()[0] : Value();
}

OpFoldResult mlir::fa::getStateRows(OpBuilder &builder, Location loc,
                                    Value state) {
  Value first = state;
  while (Value origin = getOrigin(first))
    first = origin;
  if (auto empty = first.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes()[0];
  return getMixedSize(builder, loc, state, 0);
}
