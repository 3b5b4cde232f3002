//===- RealRange.cpp - What real numbers lie between ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RealRange.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr double infinity = std::numeric_limits<double>::infinity();

double RealRange::getSize() const {
  return std::max(std::abs(least), std::abs(greatest));
}

static RealRange multiply(RealRange a, RealRange b) {
  if (!std::isfinite(a.getSize()) || !std::isfinite(b.getSize()))
    return {-infinity, infinity};
  auto [least, greatest] =
      std::minmax({a.least * b.least, a.least * b.greatest,
                   a.greatest * b.least, a.greatest * b.greatest});
  return {least, greatest};
}

static std::optional<double> getConstant(Value value) {
  if (FloatAttr number; matchPattern(value, m_Constant(&number)))
    return number.getValueAsDouble();
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
      isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<FloatAttr>().getValueAsDouble();
  return std::nullopt;
}

RealRange mlir::fa::getRealRange(Value value) {
  if (std::optional<double> number = getConstant(value))
    return {*number, *number};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {-infinity, infinity};
  auto of = [&](unsigned operand) {
    return getRealRange(op->getOperand(operand));
  };
  if (isa<tensor::SplatOp, fagpu::BroadcastOp>(op))
    return of(0);
  if (isa<math::TanhOp>(op))
    return {-1.0, 1.0};
  if (isa<math::AbsFOp>(op))
    return {0.0, of(0).getSize()};
  if (isa<arith::NegFOp>(op))
    return {-of(0).greatest, -of(0).least};
  if (isa<arith::MulFOp>(op))
    return multiply(of(0), of(1));
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(op))
    return {std::min(of(0).least, of(1).least),
            std::min(of(0).greatest, of(1).greatest)};
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return {std::max(of(0).least, of(1).least),
            std::max(of(0).greatest, of(1).greatest)};
  return {-infinity, infinity};
}
