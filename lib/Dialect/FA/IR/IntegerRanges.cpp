//===- IntegerRanges.cpp - How large integers can be ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval analysis of integers, so that conditions are rearranged only where
// nothing wraps, and indices take 32 bits only where they fit
// (IntegerRanges.h). `IntegerRange` is the arithmetic of intervals. Read
// `IntegerRanges::compute`, then `combine`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/IntegerRanges.h"
#include "MaskParts.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t beyond = beyondIndices;

// Of an end and a number, an end again: one that is not known stays so.
static int64_t getProduct(int64_t a, int64_t b) {
  int64_t product;
  if (llvm::MulOverflow(a, b, product))
    return (a < 0) != (b < 0) ? -beyond : beyond;
  return std::clamp(product, -beyond, beyond);
}

static int64_t addEnds(int64_t a, int64_t b, int64_t unknown) {
  if (a == unknown || b == unknown)
    return unknown;
  return std::clamp(a + b, -beyond, beyond);
}

unsigned mlir::fa::getIntegerWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

//===----------------------------------------------------------------------===//
// IntegerRange
//===----------------------------------------------------------------------===//

IntegerRange IntegerRange::getAll(Type type) {
  unsigned width = getIntegerWidth(type);
  if (width > 61)
    return {-beyond, beyond};
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

IntegerRange IntegerRange::getOne(int64_t number) {
  number = std::clamp(number, -beyond, beyond);
  return {number, number};
}

IntegerRange IntegerRange::getSymmetric(Type type) {
  int64_t greatest = std::min(getAll(type).greatest, beyond - 1);
  return {-greatest, greatest};
}

IntegerRange IntegerRange::getOfPosition() {
  return {0, (int64_t(1) << 30) - 1};
}

bool IntegerRange::isBounded() const {
  return least > -beyond && greatest < beyond;
}

std::optional<int64_t> IntegerRange::getNumber() const {
  if (least != greatest || !isBounded())
    return std::nullopt;
  return least;
}

IntegerRange &IntegerRange::add(const IntegerRange &other, int64_t factor) {
  auto [low, high] = std::minmax(
      {getProduct(other.least, factor), getProduct(other.greatest, factor)});
  least = addEnds(least, low, -beyond);
  greatest = addEnds(greatest, high, beyond);
  return *this;
}

static IntegerRange multiply(const IntegerRange &a, const IntegerRange &b) {
  auto [least, greatest] = std::minmax(
      {getProduct(a.least, b.least), getProduct(a.least, b.greatest),
       getProduct(a.greatest, b.least), getProduct(a.greatest, b.greatest)});
  return {least, greatest};
}

static IntegerRange unite(const IntegerRange &a, const IntegerRange &b) {
  return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}

//===----------------------------------------------------------------------===//
// IntegerRanges
//===----------------------------------------------------------------------===//

/// By a positive constant; nothing for other operations.
static std::optional<IntegerRange> divide(Operation *op, const IntegerRange &a,
                                          const IntegerRange &b) {
  bool isShift =
      isa<arith::ShRSIOp, arith::ShRUIOp, index::ShrSOp, index::ShrUOp>(op);
  bool isUnsigned = isa<arith::ShRUIOp, arith::DivUIOp, arith::CeilDivUIOp,
                        index::ShrUOp, index::DivUOp, index::CeilDivUOp>(op);
  std::optional<int64_t> number = b.getNumber();
  if (!number || (isUnsigned && !a.isNonNegative()))
    return std::nullopt;
  int64_t divisor = *number;
  if (isShift) {
    if (divisor < 0 || divisor > 61)
      return std::nullopt;
    divisor = int64_t(1) << divisor;
  }
  if (divisor <= 0)
    return std::nullopt;
  auto divideEnds = [&](auto divideEnd) {
    return IntegerRange{
        a.least == -beyond ? a.least : divideEnd(a.least, divisor),
        a.greatest == beyond ? a.greatest : divideEnd(a.greatest, divisor)};
  };
  if (isShift || isa<arith::FloorDivSIOp, index::FloorDivSOp>(op))
    return divideEnds([](int64_t end, int64_t divisor) {
      return llvm::divideFloorSigned(end, divisor);
    });
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, index::CeilDivSOp,
          index::CeilDivUOp>(op))
    return divideEnds([](int64_t end, int64_t divisor) {
      return llvm::divideCeilSigned(end, divisor);
    });
  if (isa<arith::DivSIOp, arith::DivUIOp, index::DivSOp, index::DivUOp>(op))
    return divideEnds(std::divides<int64_t>());
  return std::nullopt;
}

/// Operations whose result lies between 0 and the first operand where the
/// second is not negative; nor the first, for those that read it as unsigned.
static bool isReducing(Operation *op, const IntegerRange &a) {
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::ShRSIOp, arith::RemSIOp,
          index::DivSOp, index::FloorDivSOp, index::ShrSOp, index::RemSOp>(op))
    return true;
  return a.isNonNegative() &&
         isa<arith::DivUIOp, arith::ShRUIOp, arith::RemUIOp, index::DivUOp,
             index::ShrUOp, index::RemUOp>(op);
}

/// The remainder of what is divided by one of `b`, none of them negative.
static IntegerRange getRemainder(const IntegerRange &a, const IntegerRange &b) {
  int64_t greatest =
      b.greatest == beyond ? beyond : std::max<int64_t>(b.greatest - 1, 0);
  return {std::max(std::min<int64_t>(a.least, 0), -greatest),
          std::min(std::max<int64_t>(a.greatest, 0), greatest)};
}

/// The conjunction, disjunction or exclusive disjunction of bits.
static std::optional<IntegerRange>
combineBits(Operation *op, const IntegerRange &a, const IntegerRange &b) {
  if (isa<arith::AndIOp, index::AndOp>(op)) {
    // What has no sign keeps none of the other's bits beyond its own.
    if (!a.isNonNegative() && !b.isNonNegative())
      return std::nullopt;
    int64_t greatest = beyond;
    for (const IntegerRange &side : {a, b})
      if (side.isNonNegative())
        greatest = std::min(greatest, side.greatest);
    return IntegerRange{0, greatest};
  }
  if (!isa<arith::OrIOp, arith::XOrIOp, index::OrOp, index::XOrOp>(op) ||
      !a.isNonNegative() || !b.isNonNegative())
    return std::nullopt;
  uint64_t bits = std::max(a.greatest, b.greatest);
  return IntegerRange{0, static_cast<int64_t>(llvm::bit_ceil(bits + 1) - 1)};
}

/// The mathematical result of an operation of two numbers, before it is brought
/// into its type; nothing where little is known.
static std::optional<IntegerRange> combine(Operation *op, const IntegerRange &a,
                                           const IntegerRange &b) {
  if (isa<arith::AddIOp, index::AddOp>(op))
    return IntegerRange(a).add(b);
  if (isa<arith::SubIOp, index::SubOp>(op))
    return IntegerRange(a).add(b, -1);
  if (isa<arith::MulIOp, index::MulOp>(op))
    return multiply(a, b);
  if (std::optional<int64_t> amount = b.getNumber();
      isa<arith::ShLIOp, index::ShlOp>(op) && amount && *amount >= 0 &&
      *amount < 62)
    return multiply(a, IntegerRange::getOne(int64_t(1) << *amount));
  if (isa<arith::MinSIOp, index::MinSOp>(op))
    return IntegerRange{std::min(a.least, b.least),
                        std::min(a.greatest, b.greatest)};
  if (isa<arith::MaxSIOp, index::MaxSOp>(op))
    return IntegerRange{std::max(a.least, b.least),
                        std::max(a.greatest, b.greatest)};
  if (std::optional<IntegerRange> bits = combineBits(op, a, b))
    return bits;
  if (std::optional<IntegerRange> quotient = divide(op, a, b))
    return quotient;
  // Read as unsigned, a negative number is greater than any that is not.
  if (!b.isNonNegative() && a.isNonNegative() &&
      isa<arith::MinUIOp, index::MinUOp, arith::DivUIOp, index::DivUOp,
          arith::RemUIOp, index::RemUOp>(op))
    return IntegerRange{0, a.greatest};
  if (!a.isNonNegative() && b.isNonNegative() &&
      isa<arith::MinUIOp, index::MinUOp>(op))
    return IntegerRange{0, b.greatest};
  if (!b.isNonNegative())
    return std::nullopt;
  if (a.isNonNegative() && isa<arith::MinUIOp, index::MinUOp>(op))
    return IntegerRange{std::min(a.least, b.least),
                        std::min(a.greatest, b.greatest)};
  if (a.isNonNegative() && isa<arith::MaxUIOp, index::MaxUOp>(op))
    return IntegerRange{std::max(a.least, b.least),
                        std::max(a.greatest, b.greatest)};
  if (!isReducing(op, a))
    return std::nullopt;
  if (isa<arith::RemSIOp, arith::RemUIOp, index::RemSOp, index::RemUOp>(op))
    return getRemainder(a, b);
  return unite(a, IntegerRange::getOne(0));
}

IntegerRange IntegerRanges::get(Value value) {
  visitOperandsFirst(
      value,
      [&](Value next) {
        // Captured memory and floats have no range.
        return !next.getType().isIntOrIndex() || known.contains(next);
      },
      [&](Value next) { known.insert({next, compute(next)}); });
  return known.at(value);
}

bool IntegerRanges::mayWrap(Operation *op) {
  std::optional<IntegerRange> range =
      combine(op, get(op->getOperand(0)), get(op->getOperand(1)));
  return !range ||
         !range->isWithin(IntegerRange::getAll(op->getResult(0).getType()));
}

IntegerRange IntegerRanges::compute(Value value) {
  IntegerRange all = IntegerRange::getAll(value.getType());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    bool isPosition = firstPosition && number >= *firstPosition &&
                      number < *firstPosition + 4;
    return isPosition ? IntegerRange::getOfPosition() : all;
  }
  if (std::optional<int64_t> constant = getIntegerConstant(value))
    return IntegerRange::getOne(*constant);
  Operation *op = value.getDefiningOp();
  IntegerRange range = computeResult(cast<OpResult>(value));
  // Of the ends of 62 and 63 bits nothing is known but that they wrap.
  unsigned width = getIntegerWidth(value.getType());
  bool hasKnownEnds = width < 62 || width >= 64;
  if (range.isWithin(all) && (hasKnownEnds || range.isBounded()))
    return range;
  // Without the flag what does not fit may be any number.
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  if (!flags || !flags.hasNoSignedWrap())
    return all;
  return {std::clamp(range.least, all.least, all.greatest),
          std::clamp(range.greatest, all.least, all.greatest)};
}

IntegerRange IntegerRanges::computeResult(OpResult result) {
  Operation *op = result.getOwner();
  IntegerRange all = IntegerRange::getAll(result.getType());
  if (isa<QueryLengthOp>(op))
    return queryLength;
  if (isa<KeyLengthOp>(op))
    return keyLength;
  if (isa<arith::SelectOp>(op))
    return unite(get(op->getOperand(1)), get(op->getOperand(2)));
  bool isOfIntegers = llvm::all_of(
      op->getOperandTypes(), [](Type type) { return type.isIntOrIndex(); });
  if (!isOfIntegers)
    return all;
  if (op->getNumOperands() == 2)
    return combine(op, get(op->getOperand(0)), get(op->getOperand(1)))
        .value_or(all);
  if (op->getNumOperands() != 1)
    return all;
  IntegerRange operand = get(op->getOperand(0));
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, index::CastSOp>(
          op))
    return operand;
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp, index::CastUOp>(op)) {
    unsigned width = getIntegerWidth(op->getOperand(0).getType());
    if (operand.isNonNegative() || width >= 61)
      return operand.isNonNegative() ? operand : all;
    return {0, (int64_t(1) << width) - 1};
  }
  if (isa<math::AbsIOp>(op)) {
    int64_t greatest = std::max(-operand.least, operand.greatest);
    return {operand.isNonNegative() ? operand.least : 0, greatest};
  }
  return all;
}
