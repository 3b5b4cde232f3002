//===- DropoutOp.cpp - Random factors of weights --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

OpFoldResult DropoutOp::fold(FoldAdaptor adaptor) {
  auto p = dyn_cast_if_present<FloatAttr>(adaptor.getP());
  if (!p || !p.getValue().isZero())
    return {};
  return FloatAttr::get(getType(), 1.0);
}

/// What an argument of a region on pairs stands for, or the value itself.
static Value getCaptured(PairRegionsOpInterface op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  for (const PairRegion &pairs : op.getPairRegions()) {
    unsigned first = pairs.getNumFixed();
    if (argument && argument.getOwner()->getParent() == pairs.region &&
        argument.getArgNumber() >= first)
      return pairs.captures[argument.getArgNumber() - first];
  }
  return value;
}

std::optional<double> DropoutOp::getKnownProbability() {
  auto parent = cast<PairRegionsOpInterface>((*this)->getParentOp());
  FloatAttr p;
  if (!matchPattern(getCaptured(parent, getP()), m_Constant(&p)))
    return std::nullopt;
  return p.getValueAsDouble();
}

LogicalResult DropoutOp::verify() {
  std::optional<double> p = getKnownProbability();
  if (!p || (*p >= 0 && *p < 1))
    return success();
  return emitOpError() << "drops with probability " << *p
                       << ", expected at least 0 and below 1";
}
