//===- MaskExpression.cpp - Normal form of a mask region -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "fa/Dialect/FA/IR/ComparisonPredicate.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

using Kind = MaskExpression::Kind;

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

static constexpr char tooComplex[] = "the mask is too complex to analyse";
static constexpr char tooLarge[] =
    " is of numbers that may leave 64 bits where it is rearranged";

// Names the operation in a remark.
static std::string quote(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "'";
}

static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getSignificantBits() <= 64)
    return constant.getSExtValue();
  return std::nullopt;
}

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

MaskNormalizer::MaskNormalizer(Region &region)
    : region(region), expression(Kind::True) {
  if (region.empty())
    return;
  for (Operation &op : region.front()) {
    if (isa<QueryLengthOp>(op) && !queryLength)
      queryLength = op.getResult(0);
    if (isa<KeyLengthOp>(op) && !keyLength)
      keyLength = op.getResult(0);
  }
  Operation *yield = region.front().getTerminator();
  expression = build(yield->getOperand(0), /*negated=*/false);
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
  bool isLarge = form.overflows || isBeyond(form.key) ||
                 llvm::any_of(form.terms, [&](auto &entry) {
                   return isBeyond(entry.second);
                 });
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
  if (std::optional<int64_t> constant = getConstant(value))
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
      if (auto factor = getConstant(op->getOperand(position)))
        return form.add(getForm(op->getOperand(1 - position)), *factor);
  }
  if (isa<arith::ShLIOp, index::ShlOp>(op)) {
    auto amount = getConstant(op->getOperand(1));
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
  std::optional<int64_t> divisor = getConstant(op->getOperand(1));
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

//===----------------------------------------------------------------------===//
// Boolean structure
//===----------------------------------------------------------------------===//

MaskExpression MaskNormalizer::buildUnknown(Operation *op,
                                            const std::string &reason) {
  bool known = llvm::any_of(
      obstacles, [&](MaskObstacle &entry) { return entry.operation == op; });
  if (!known)
    obstacles.push_back({op, reason});
  return MaskExpression(Kind::Unknown);
}

MaskExpression MaskNormalizer::buildJunction(Kind kind, MaskExpression lhs,
                                             MaskExpression rhs) {
  Kind neutral = kind == Kind::And ? Kind::True : Kind::False;
  Kind absorbing = kind == Kind::And ? Kind::False : Kind::True;
  if (lhs.kind == absorbing || rhs.kind == neutral)
    return lhs;
  if (rhs.kind == absorbing || lhs.kind == neutral)
    return rhs;
  MaskExpression result(kind);
  for (MaskExpression *operand : {&lhs, &rhs}) {
    if (operand->kind == kind)
      for (MaskExpression &nested : operand->operands)
        result.operands.push_back(std::move(nested));
    else
      result.operands.push_back(std::move(*operand));
  }
  return result;
}

MaskExpression MaskNormalizer::build(Value value, bool negated) {
  if (std::optional<int64_t> constant = getConstant(value))
    return MaskExpression((*constant != 0) != negated ? Kind::True
                                                      : Kind::False);
  if (getDependence(value) == 0) {
    MaskExpression condition(Kind::Condition);
    condition.condition = value;
    condition.negated = negated;
    return condition;
  }
  Operation *op = value.getDefiningOp();
  if (remainingSteps == 0)
    return buildUnknown(op, tooComplex);
  --remainingSteps;
  if (isa<arith::AndIOp, arith::OrIOp>(op)) {
    Kind kind = isa<arith::AndIOp>(op) != negated ? Kind::And : Kind::Or;
    MaskExpression first = build(op->getOperand(0), negated);
    return buildJunction(kind, std::move(first),
                         build(op->getOperand(1), negated));
  }
  auto conjoin = [&](Value a, bool negatedA, Value b, bool negatedB) {
    MaskExpression first = build(a, negatedA);
    return buildJunction(Kind::And, std::move(first), build(b, negatedB));
  };
  // (condition and a) or (not condition and b)
  auto choose = [&](Value condition, Value a, bool negatedA, Value b,
                    bool negatedB) {
    MaskExpression first = conjoin(condition, false, a, negatedA);
    return buildJunction(Kind::Or, std::move(first),
                         conjoin(condition, true, b, negatedB));
  };
  auto exclusiveOr = [&](Value a, Value b, bool negatedResult) {
    if (getConstant(a))
      std::swap(a, b);
    if (std::optional<int64_t> constant = getConstant(b))
      return build(a, (*constant != 0) != negatedResult);
    return choose(a, b, !negatedResult, b, negatedResult);
  };
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return choose(select.getCondition(), select.getTrueValue(), negated,
                  select.getFalseValue(), negated);
  if (isa<arith::XOrIOp>(op))
    return exclusiveOr(op->getOperand(0), op->getOperand(1), negated);
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare && compare.getLhs().getType().isInteger(1)) {
    bool equal = compare.getPredicate() == arith::CmpIPredicate::eq;
    if (equal || compare.getPredicate() == arith::CmpIPredicate::ne)
      return exclusiveOr(compare.getLhs(), compare.getRhs(), equal != negated);
  }
  if (isa<arith::CmpIOp, index::CmpOp>(op))
    return buildComparison(op, negated);
  return buildUnknown(op, quote(op) +
                              " depends on the query or the key and is "
                              "neither a comparison nor and, or, xor, select");
}

std::optional<std::pair<arith::CmpIPredicate, LinearForm>>
MaskNormalizer::getDifference(Operation *comparison) {
  using Predicate = arith::CmpIPredicate;
  Value lhs = comparison->getOperand(0), rhs = comparison->getOperand(1);
  Predicate predicate = getPredicate(comparison);
  bool isSigned = predicate <= Predicate::sge;
  if (!isSigned) {
    if (!isNonNegative(lhs) || !isNonNegative(rhs))
      return std::nullopt;
    predicate = predicate == Predicate::ult   ? Predicate::slt
                : predicate == Predicate::ule ? Predicate::sle
                : predicate == Predicate::ugt ? Predicate::sgt
                                              : Predicate::sge;
  }
  return std::make_pair(predicate, getForm(lhs).add(getForm(rhs), -1));
}

MaskExpression MaskNormalizer::buildComparison(Operation *op, bool negated) {
  auto known = getDifference(op);
  if (!known)
    return buildUnknown(op, quote(op) + " compares unsigned numbers that may "
                                        "be negative as signed ones");
  arith::CmpIPredicate predicate = known->first;
  const LinearForm &difference = known->second;
  if (negated)
    predicate = arith::invertPredicate(predicate);
  LinearForm opposite;
  opposite.add(difference, -1);
  auto atMost = [&](LinearForm form, int64_t constant) {
    return buildNonPositive(form.addConstant(constant), op);
  };
  auto either = [&](Kind kind, int64_t constant) {
    MaskExpression first = atMost(difference, constant);
    return buildJunction(kind, std::move(first), atMost(opposite, constant));
  };
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::sle:
    return atMost(difference, 0);
  case Predicate::slt:
    return atMost(difference, 1);
  case Predicate::sge:
    return atMost(opposite, 0);
  case Predicate::sgt:
    return atMost(opposite, 1);
  case Predicate::eq:
    return buildJunction(Kind::And, atMost(difference, 0), atMost(opposite, 0));
  case Predicate::ne:
    return either(Kind::Or, 1);
  default:
    break;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

// Why nothing is known of a term.
std::string MaskNormalizer::getReason(Value term) {
  std::string name = quote(term.getDefiningOp());
  if (wrapping.contains(term)) {
    llvm::raw_string_ostream(name) << " may wrap in " << term.getType();
    return name;
  }
  return name + (dependsOnKey(term) ? " is not linear in the key"
                                    : " is not monotonic in the query");
}

MaskExpression MaskNormalizer::buildNonPositive(LinearForm form,
                                                Operation *source) {
  if (form.isConstant())
    return MaskExpression(form.constant <= 0 ? Kind::True : Kind::False);
  if (form.overflows)
    return buildUnknown(source, quote(source) + tooLarge);
  if (remainingSteps == 0)
    return buildUnknown(source, tooComplex);
  --remainingSteps;
  for (auto [term, coefficient] : form.terms) {
    if (getDirection(term) != Direction::Unknown)
      continue;
    LinearForm rest = form;
    rest.add(LinearForm::getTerm(term), -coefficient);
    if (auto expanded = expandTerm(term, coefficient, rest, source))
      return std::move(*expanded);
    return buildUnknown(term.getDefiningOp(), getReason(term));
  }
  return buildCondition(std::move(form), source);
}

MaskExpression MaskNormalizer::buildCondition(LinearForm form,
                                              Operation *source) {
  if (!saturate(form))
    return buildUnknown(source, quote(source) + tooLarge);
  MaskExpression condition(Kind::NonPositive);
  condition.form = std::move(form);
  return condition;
}

bool MaskNormalizer::saturate(LinearForm &form) {
  constexpr int64_t far = beyondIndices, near = far / 2;
  bool mayLeave = form.isScaled && !getRange(form).isBounded();
  if (!mayLeave && form.constant >= -2 * far && form.constant <= 2 * far)
    return true;
  IntegerRange others = IntegerRange::getOne(0);
  others.add(IntegerRange::getOfPosition(), form.key);
  unsigned numFar = 0;
  auto addPart = [&](const IntegerRange &range) {
    if (range.isBounded())
      others.add(range);
    else
      ++numFar;
    return range.isBounded();
  };
  for (auto [term, coefficient] : form.terms) {
    IntegerRange product = IntegerRange::getOne(0);
    if (addPart(product.add(ranges.get(term), coefficient)))
      continue;
    if (coefficient < -far || coefficient > far)
      return false;
    form.saturated = term;
  }
  addPart(IntegerRange::getOne(form.constant));
  form.constant = std::clamp(form.constant, -far, far);
  return numFar == 1 && others.isWithin({-near, near});
}

// `coefficient * term + rest <= 0` without the term, where it can be split.
std::optional<MaskExpression> MaskNormalizer::expandTerm(Value term,
                                                         int64_t coefficient,
                                                         const LinearForm &rest,
                                                         Operation *source) {
  Operation *op = term.getDefiningOp();
  auto substitute = [&](const LinearForm &replacement) {
    LinearForm form = rest;
    return buildNonPositive(form.add(replacement, coefficient), source);
  };
  // max(a, b) <= c where both are; c <= max(a, b) where either is.
  auto split = [&](bool isMaximum, const LinearForm &a, const LinearForm &b) {
    Kind kind = isMaximum == (coefficient > 0) ? Kind::And : Kind::Or;
    MaskExpression first = substitute(a);
    return buildJunction(kind, std::move(first), substitute(b));
  };
  if (isa<arith::MaxSIOp, index::MaxSOp, arith::MinSIOp, index::MinSOp>(op))
    return split(isa<arith::MaxSIOp, index::MaxSOp>(op),
                 getForm(op->getOperand(0)), getForm(op->getOperand(1)));
  if (isa<math::AbsIOp>(op)) {
    LinearForm operand = getForm(op->getOperand(0)), opposite;
    // The least number of a type has no opposite.
    if (!llvm::is_contained(operand.mayWrap, op->getOperand(0)) &&
        !getRange(operand).isWithin(
            IntegerRange::getSymmetric(op->getOperand(0).getType())))
      return std::nullopt;
    opposite.add(operand, -1);
    return split(/*isMaximum=*/true, operand, opposite);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto when = [&](bool negated, Value chosen) {
      MaskExpression condition = build(select.getCondition(), negated);
      return buildJunction(Kind::And, std::move(condition),
                           substitute(getForm(chosen)));
    };
    MaskExpression whenTrue = when(false, select.getTrueValue());
    return buildJunction(Kind::Or, std::move(whenTrue),
                         when(true, select.getFalseValue()));
  }
  if (auto division = getFloorDiv(term))
    return buildFloorDivision(division->first, division->second, coefficient,
                              rest, source);
  return std::nullopt;
}

// floor(x / d) <= e where x <= d * e + d - 1; e <= floor(x / d) where
// d * e <= x.
MaskExpression MaskNormalizer::buildFloorDivision(Value dividend,
                                                  int64_t divisor,
                                                  int64_t coefficient,
                                                  const LinearForm &rest,
                                                  Operation *source) {
  if (coefficient != 1 && coefficient != -1)
    return buildUnknown(source,
                        quote(source) + " multiplies a quotient by a constant");
  LinearForm form;
  form.add(rest, divisor);
  form.isScaled |= !getRange(form).isBounded();
  form.add(getForm(dividend), coefficient);
  if (coefficient == 1)
    form.addConstant(1 - divisor);
  return buildNonPositive(std::move(form), source);
}
