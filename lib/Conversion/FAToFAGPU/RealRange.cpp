//===- RealRange.cpp - What real numbers lie between ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RealRange.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Support/OperandsFirst.h"
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

namespace {
/// A value is visited once, however many uses it has.
class RealRanges {
public:
  RealRange get(Value value) {
    visitOperandsFirst(
        value, [&](Value next) { return known.contains(next); },
        [&](Value next) { known.insert({next, compute(next)}); });
    return known.at(value);
  }

private:
  RealRange compute(Value value);
  static RealRange computeOfTwo(Operation *op, RealRange a, RealRange b);

  llvm::DenseMap<Value, RealRange> known;
};
} // namespace

RealRange RealRanges::compute(Value value) {
  if (std::optional<double> number = getConstant(value))
    return {*number, *number};
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<math::TanhOp>(op))
    return {-1.0, 1.0};
  if (isa_and_nonnull<tensor::SplatOp, fagpu::BroadcastOp, math::AbsFOp,
                      arith::NegFOp>(op)) {
    RealRange operand = get(op->getOperand(0));
    if (isa<math::AbsFOp>(op))
      return {0.0, operand.getSize()};
    if (isa<arith::NegFOp>(op))
      return {-operand.greatest, -operand.least};
    return operand;
  }
  if (isa_and_nonnull<arith::MulFOp, arith::MinimumFOp, arith::MaximumFOp,
                      arith::MinNumFOp, arith::MaxNumFOp>(op))
    return computeOfTwo(op, get(op->getOperand(0)), get(op->getOperand(1)));
  return {-infinity, infinity};
}

RealRange RealRanges::computeOfTwo(Operation *op, RealRange a, RealRange b) {
  if (isa<arith::MulFOp>(op))
    return multiply(a, b);
  RealRange all = {std::min(a.least, b.least),
                   std::max(a.greatest, b.greatest)};
  if (isa<arith::MinimumFOp>(op))
    all.greatest = std::min(a.greatest, b.greatest);
  if (isa<arith::MaximumFOp>(op))
    all.least = std::max(a.least, b.least);
  // minnumf and maxnumf of a number and none are the number.
  return all;
}

RealRange mlir::fa::getRealRange(Value value) {
  return RealRanges().get(value);
}
