//===- MaskExpression.cpp - Normal form of a mask region ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first step of MaskNormalizer: the and, or, not and select of a mask
// become a tree with comparisons as leaves (MaskExpression.h). Read `build`,
// then `buildComparison`; MaskForms.cpp and MaskConditions.cpp do the leaves.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "MaskParts.h"
#include "fa/Dialect/FA/IR/ComparisonPredicate.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;
using namespace mlir::fa;

using Kind = MaskExpression::Kind;

MaskNormalizer::MaskNormalizer(Region &region, VisitedIndex visited)
    : region(region), visited(visited), expression(Kind::True) {
  if (region.empty())
    return;
  for (Operation &op : region.front()) {
    if (isa<QueryLengthOp>(op) && !queryLength)
      queryLength = op.getResult(0);
    if (isa<KeyLengthOp>(op) && !keyLength)
      keyLength = op.getResult(0);
  }
  // Operands come before what is computed from them, so that no chain of them
  // is followed.
  for (Operation &op : region.front())
    for (Value result : op.getResults()) {
      getDependence(result);
      if (!result.getType().isIntOrIndex() || result.getType().isInteger(1))
        continue;
      getForm(result);
      getDirection(result);
    }
  Operation *yield = region.front().getTerminator();
  expression = build(yield->getOperand(0), /*negated=*/false);
}

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
    if (operand->kind != kind)
      result.operands.push_back(std::move(*operand));
    else if (result.operands.empty())
      result.operands = std::move(operand->operands);
    else
      llvm::move(operand->operands, std::back_inserter(result.operands));
  }
  return result;
}

MaskExpression MaskNormalizer::build(Value value, bool negated) {
  if (std::optional<int64_t> constant = getIntegerConstant(value))
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
    if (getIntegerConstant(a))
      std::swap(a, b);
    if (std::optional<int64_t> constant = getIntegerConstant(b))
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
