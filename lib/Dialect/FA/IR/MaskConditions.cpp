//===- MaskConditions.cpp - Linear conditions of a mask -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of MaskNormalizer: a comparison, as a linear form that must
// not be positive, becomes conditions whose terms are all monotonic in the
// query. Max, min and floor division are split. Begin with
// `buildNonPositive`.
//
//===----------------------------------------------------------------------===//

#include "MaskParts.h"
#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::fa;

using Kind = MaskExpression::Kind;

static constexpr char tooLarge[] =
    " is of numbers that may leave 64 bits where it is rearranged";

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
