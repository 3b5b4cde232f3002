//===- LoopSizes.cpp - What is known of a size of a loop ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSizes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

int64_t mlir::fa::getDivisor(Value size) {
  if (auto dim = size.getDefiningOp<memref::DimOp>()) {
    auto cast = dim.getSource().getDefiningOp<memref::ReinterpretCastOp>();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!cast || !index || !cast.isDynamicSize(*index))
      return 1;
    size = cast.getDynamicSize(*index);
  }
  AffineMap map;
  if (auto minimum = size.getDefiningOp<affine::AffineMinOp>())
    map = minimum.getMap();
  else if (auto apply = size.getDefiningOp<affine::AffineApplyOp>())
    map = apply.getMap();
  else
    return 1;
  int64_t divisor = 0;
  for (AffineExpr result : map.getResults())
    divisor = std::gcd(divisor, result.getLargestKnownDivisor());
  return divisor;
}
