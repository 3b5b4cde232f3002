//===- GuardDivisors.cpp - Divisors that may be 0 -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/IntegerRanges.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGUARDDIVISORS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static Value isEqual(OpBuilder &builder, Location loc, Value value,
                     int64_t number) {
  Value constant = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(value.getType(), number));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                               constant);
}

/// `isOut` to 1, other divisors as they are.
static void replaceDivisor(OpBuilder &builder, Operation *op, Value isOut) {
  Value divisor = op->getOperand(1);
  Value one = arith::ConstantOp::create(
      builder, op->getLoc(), builder.getIntegerAttr(divisor.getType(), 1));
  op->setOperand(
      1, arith::SelectOp::create(builder, op->getLoc(), isOut, one, divisor));
}

namespace {
/// A division, and what of it may have no result.
struct Division {
  Operation *op;
  /// The divisor may be 0.
  bool mayBeByZero;
  /// The least number of its type, which has no opposite, may be divided by -1.
  bool mayOverflow;
};
} // namespace

static Division look(Operation *op, IntegerRanges &ranges) {
  IntegerRange dividend = ranges.get(op->getOperand(0)),
               divisor = ranges.get(op->getOperand(1));
  auto mayDivideBy = [&](int64_t number) {
    return divisor.least <= number && divisor.greatest >= number;
  };
  int64_t least = IntegerRange::getAll(op->getOperand(0).getType()).least;
  return {op, mayDivideBy(0),
          !isa<arith::RemUIOp>(op) && mayDivideBy(-1) &&
              dividend.least <= least};
}

static void guard(const Division &division) {
  auto [op, mayBeByZero, mayOverflow] = division;
  if (!mayBeByZero && !mayOverflow)
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value divisor = op->getOperand(1);
  Value turns = mayOverflow ? isEqual(builder, loc, divisor, -1) : Value();
  Value isOut = mayBeByZero ? isEqual(builder, loc, divisor, 0) : turns;
  if (mayBeByZero && mayOverflow)
    isOut = arith::OrIOp::create(builder, loc, isOut, turns);
  replaceDivisor(builder, op, isOut);
  // By -1 no remainder is left, as by 1.
  if (!mayOverflow || !isa<arith::FloorDivSIOp>(op))
    return;
  Value dividend = op->getOperand(0), quotient = op->getResult(0);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(quotient.getType(), 0));
  Value opposite = arith::SubIOp::create(builder, loc, zero, dividend);
  builder.setInsertionPointAfter(op);
  auto result =
      arith::SelectOp::create(builder, loc, turns, opposite, quotient);
  quotient.replaceAllUsesExcept(result, result);
}

/// The batch is argument `firstPosition` of the region.
static void guardIn(Region &region, unsigned firstPosition) {
  IntegerRanges ranges(firstPosition);
  SmallVector<Division> divisions;
  for (Operation &op : region.front())
    if (isa<arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp>(op))
      divisions.push_back(look(&op, ranges));
  llvm::for_each(divisions, guard);
}

namespace {
struct GuardDivisorsPass
    : public fa::impl::FAGuardDivisorsBase<GuardDivisorsPass> {
  void runOnOperation() override {
    getOperation()->walk([](PairRegionsOpInterface op) {
      for (const PairRegion &pairs : op.getPairRegions())
        guardIn(*pairs.region, pairs.numElements);
    });
  }
};
} // namespace
