//===- MaskForms.cpp - Integers of a mask region as linear forms ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Part of MaskNormalizer: writes the integers of a mask as linear forms in
// the key, and says how each value changes as the query grows. Forms are kept
// only where the type cannot wrap. Read `computeForm`, then
// `computeDirection`.
//
//===----------------------------------------------------------------------===//

#include "MaskParts.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// LinearForm
//===----------------------------------------------------------------------===//

int64_t LinearForm::getCoefficient(Value term) const {
  for (auto [value, coefficient] : terms)
    if (value == term)
      return coefficient;
  return 0;
}

LinearForm &LinearForm::add(const LinearForm &other, int64_t factor) {
  overflows |= other.overflows;
  isScaled |= other.isScaled;
  if (other.saturated)
    saturated = other.saturated;
  auto addTo = [&](int64_t &sum, int64_t number) {
    int64_t product = 0;
    overflows |= llvm::MulOverflow(number, factor, product) ||
                 llvm::AddOverflow(sum, product, sum);
  };
  addTo(key, other.key);
  addTo(constant, other.constant);
  for (auto [term, coefficient] : other.terms) {
    auto *known = llvm::find_if(
        terms, [term = term](auto &entry) { return entry.first == term; });
    if (known == terms.end())
      known = terms.insert(terms.end(), {term, 0});
    addTo(known->second, coefficient);
  }
  llvm::erase_if(terms, [](auto &entry) { return entry.second == 0; });
  for (Value value : other.mayWrap)
    if (!llvm::is_contained(mayWrap, value))
      mayWrap.push_back(value);
  return *this;
}

//===----------------------------------------------------------------------===//
// Values of the region
//===----------------------------------------------------------------------===//

Value mlir::fa::createIndexOf(OpBuilder &builder, Location loc, Value integer) {
  Type type = integer.getType();
  if (type.isIndex())
    return integer;
  auto cast = integer.getDefiningOp<arith::IndexCastOp>();
  if (cast && getIntegerWidth(type) < 64) {
    integer = builder.createOrFold<arith::IndexCastOp>(
        loc, builder.getI64Type(), cast.getIn());
    integer = builder.createOrFold<arith::TruncIOp>(loc, type, integer);
  }
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                  integer);
}

unsigned MaskNormalizer::getDependence(Value value) {
  if (value == getKey())
    return keyBit;
  if (value == getQuery())
    return queryBit;
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (auto known = dependence.find(value); known != dependence.end())
    return known->second;
  unsigned bits = 0;
  for (Value operand : op->getOperands())
    bits |= getDependence(operand);
  return dependence[value] = bits;
}

// A sum of operands times constants; anything else has no linear form.
std::optional<LinearForm>
MaskNormalizer::getForm(AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearForm::getConstant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getForm(dims[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return getForm(symbols[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<LinearForm> lhs = getForm(binary.getLHS(), dims, symbols);
  std::optional<LinearForm> rhs = getForm(binary.getRHS(), dims, symbols);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return lhs->add(*rhs);
  if (expr.getKind() != AffineExprKind::Mul || !rhs->isConstant())
    return std::nullopt;
  return LinearForm().add(*lhs, rhs->constant);
}

LinearForm MaskNormalizer::getForm(Value value) {
  if (auto known = forms.find(value); known != forms.end())
    return known->second;
  LinearForm form = computeForm(value);
  // Products with larger numbers could overflow.
  constexpr int64_t largest = int64_t(1) << 31;
  auto isBeyond = [&](int64_t number) {
    return number < -largest || number > largest;
  };
  // Each sum copies its terms.
  constexpr size_t mostTerms = 64;
  bool isLarge =
      form.overflows || isBeyond(form.key) || form.terms.size() > mostTerms ||
      llvm::any_of(form.terms,
                   [&](auto &entry) { return isBeyond(entry.second); });
  if (isLarge)
    form = LinearForm::getTerm(value);
  form = keepToType(value, std::move(form));
  forms[value] = form;
  return form;
}

IntegerRange MaskNormalizer::getRange(const LinearForm &form) {
  IntegerRange range = IntegerRange::getOne(form.constant);
  range.add(IntegerRange::getOfPosition(), form.key);
  for (auto [term, coefficient] : form.terms)
    range.add(ranges.get(term), coefficient);
  return range;
}

// A form is a sum without bounds. Where the value's type has fewer than 64 bits
// it is equal to that sum up to a multiple of 2 to its width, whatever wraps on
// the way; and to the sum itself where that fits the type.
LinearForm MaskNormalizer::keepToType(Value value, LinearForm form) {
  unsigned width = getIntegerWidth(value.getType());
  bool isTerm = form.terms.size() == 1 && form.terms.front().first == value;
  Operation *op = value.getDefiningOp();
  if (width >= 64 || isTerm || !op)
    return form;
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  if (flags && flags.hasNoSignedWrap())
    return form;
  llvm::erase_if(form.mayWrap, [&](Value inner) {
    return getIntegerWidth(inner.getType()) >= width;
  });
  IntegerRange range = getRange(form);
  if (range.isWithin(IntegerRange::getSymmetric(value.getType())))
    return form;
  // What is equal for all pairs is computed as it stands.
  if (getDependence(value) == 0)
    return LinearForm::getTerm(value);
  bool isComputable =
      range.isBounded() && llvm::all_of(form.terms, [&](auto &entry) {
        return getDirection(entry.first) != Direction::Unknown;
      });
  if (!isComputable) {
    wrapping.insert(value);
    return LinearForm::getTerm(value);
  }
  form.mayWrap.push_back(value);
  return form;
}

LinearForm MaskNormalizer::computeForm(Value value) {
  LinearForm form;
  if (value == getKey()) {
    form.key = 1;
    return form;
  }
  if (std::optional<int64_t> constant = getIntegerConstant(value))
    return form.add(LinearForm::getConstant(*constant));
  Operation *op = value.getDefiningOp();
  if (!op)
    return LinearForm::getTerm(value);
  if (isa<QueryLengthOp>(op))
    return LinearForm::getTerm(queryLength);
  if (isa<KeyLengthOp>(op))
    return LinearForm::getTerm(keyLength);
  if (isa<arith::AddIOp, index::AddOp>(op))
    return getForm(op->getOperand(0)).add(getForm(op->getOperand(1)));
  if (isa<arith::SubIOp, index::SubOp>(op))
    return getForm(op->getOperand(0)).add(getForm(op->getOperand(1)), -1);
  if (isa<arith::MulIOp, index::MulOp>(op)) {
    for (unsigned position : {0u, 1u})
      if (auto factor = getIntegerConstant(op->getOperand(position)))
        return form.add(getForm(op->getOperand(1 - position)), *factor);
  }
  if (isa<arith::ShLIOp, index::ShlOp>(op)) {
    auto amount = getIntegerConstant(op->getOperand(1));
    if (amount && *amount >= 0 && *amount < 62)
      return form.add(getForm(op->getOperand(0)), int64_t(1) << *amount);
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, index::CastSOp>(
          op))
    return getForm(op->getOperand(0));
  // Narrowing, the sign does not count.
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp, index::CastUOp>(op) &&
      (isNonNegative(op->getOperand(0)) ||
       getIntegerWidth(value.getType()) <
           getIntegerWidth(op->getOperand(0).getType())))
    return getForm(op->getOperand(0));
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    if (auto sum = getForm(apply.getAffineMap().getResult(0),
                           apply.getDimOperands(), apply.getSymbolOperands()))
      return *sum;
  return LinearForm::getTerm(value);
}

std::optional<std::pair<Value, int64_t>>
MaskNormalizer::getFloorDiv(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return std::nullopt;
  Value dividend = op->getOperand(0);
  std::optional<int64_t> divisor = getIntegerConstant(op->getOperand(1));
  if (!divisor)
    return std::nullopt;
  // Rounding towards zero and the unsigned forms agree with floor on numbers
  // that are not negative.
  bool isShift =
      isa<arith::ShRSIOp, index::ShrSOp>(op) ||
      (isa<arith::ShRUIOp, index::ShrUOp>(op) && isNonNegative(dividend));
  if (isShift && *divisor >= 0 && *divisor < 62)
    return std::make_pair(dividend, int64_t(1) << *divisor);
  bool isDivision =
      isa<arith::FloorDivSIOp, index::FloorDivSOp>(op) ||
      (isa<arith::DivSIOp, arith::DivUIOp, index::DivSOp, index::DivUOp>(op) &&
       isNonNegative(dividend));
  if (isDivision && *divisor > 0)
    return std::make_pair(dividend, *divisor);
  return std::nullopt;
}

static Direction reverse(Direction direction) {
  if (direction == Direction::Increasing)
    return Direction::Decreasing;
  if (direction == Direction::Decreasing)
    return Direction::Increasing;
  return direction;
}

static Direction join(Direction a, Direction b) {
  if (a == Direction::Constant || a == b)
    return b;
  return b == Direction::Constant ? a : Direction::Unknown;
}

Direction MaskNormalizer::getDirection(const LinearForm &form) {
  Direction direction = Direction::Constant;
  for (auto [term, coefficient] : form.terms) {
    Direction own = getDirection(term);
    direction = join(direction, coefficient > 0 ? own : reverse(own));
  }
  return direction;
}

Direction MaskNormalizer::getDirection(Value value) {
  if (auto known = directions.find(value); known != directions.end())
    return known->second;
  Direction direction = computeDirection(value);
  directions[value] = direction;
  return direction;
}

Direction MaskNormalizer::computeDirection(Value value) {
  if (dependsOnKey(value))
    return Direction::Unknown;
  if (!dependsOnQuery(value))
    return Direction::Constant;
  if (value == getQuery())
    return Direction::Increasing;
  // A sum that may wrap has no direction.
  auto getDirectionOf = [&](Value operand) {
    LinearForm form = getForm(operand);
    return form.mayWrap.empty() ? getDirection(form) : Direction::Unknown;
  };
  if (auto division = getFloorDiv(value))
    return getDirectionOf(division->first);
  Operation *op = value.getDefiningOp();
  if (isa<arith::MaxSIOp, arith::MinSIOp, index::MaxSOp, index::MinSOp>(op))
    return join(getDirectionOf(op->getOperand(0)),
                getDirectionOf(op->getOperand(1)));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (getDependence(select.getCondition()) == 0)
      return join(getDirectionOf(select.getTrueValue()),
                  getDirectionOf(select.getFalseValue()));
  LinearForm form = getForm(value);
  if (form.terms.size() == 1 && form.terms.front().first == value)
    return Direction::Unknown;
  return getDirectionOf(value);
}
