//===- EmptyRowMatch.cpp - Rows of a softmax that see no key --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What conditions set rows of the softmax to 0, or elements of it: raised if
// they are those of rows that see no key. `getEmptiness` makes the condition
// that a score is -inf; `matchGuards` compares the source's with it.
//
//===----------------------------------------------------------------------===//

#include "PositiveFactors.h"
#include "SoftmaxMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

const Node *SoftmaxMatcher::getEmptinessOf(const Node *node) {
  if (node->folded)
    return graph.getBool(isNegativeInfinity(node));
  if (node->isa<arith::SelectOp>())
    return graph.getSelect(node->operand(0), getEmptiness(node->operand(1)),
                           getEmptiness(node->operand(2)));
  if (node->isa<arith::AddFOp>())
    return graph.get<arith::OrIOp>(
        {getEmptiness(node->operand(0)), getEmptiness(node->operand(1))},
        graph.getBool(true)->type);
  if (node->isa<arith::SubFOp>() || node->isa<arith::ExtFOp>() ||
      node->isa<arith::TruncFOp>())
    return getEmptiness(node->operand(0));
  if (node->isa<arith::MulFOp>() || node->isa<arith::DivFOp>()) {
    std::optional<double> factor = getDouble(node->operand(1));
    if (factor && *factor > 0)
      return getEmptiness(node->operand(0));
    factor = getDouble(node->operand(0));
    if (factor && *factor > 0 && node->isa<arith::MulFOp>())
      return getEmptiness(node->operand(1));
    return graph.getBool(false);
  }
  if (node->kind == NodeKind::Load && !node->hasMatrix) {
    const Node *infinity =
        graph.getReal(-std::numeric_limits<double>::infinity(), node->type);
    return graph.get<arith::CmpFOp>(
        {node, infinity}, graph.getBool(true)->type, node->source,
        arith::CmpFPredicateAttr::get(graph.getContext(),
                                      arith::CmpFPredicate::OEQ));
  }
  return graph.getBool(false);
}

const Node *SoftmaxMatcher::getEmptiness(const Node *node) {
  auto [place, isNew] = emptiness.try_emplace(node, nullptr);
  if (!isNew)
    return place->second;
  const Node *condition = getEmptinessOf(node);
  return emptiness[node] = condition;
}

/// Whether the score may be -inf: by a constant or by what is loaded.
bool SoftmaxMatcher::mayBeEmpty(const Node *node) {
  std::optional<APInt> known = getInteger(getEmptiness(node));
  return !known || !known->isZero();
}

/// Whether the condition holds just where the scores of a row are all -inf.
bool SoftmaxMatcher::isEmptyRow(const Node *condition) {
  const Node *empty = getEmptiness(score);
  // Of scores that are never -inf only the comparison itself is known.
  bool isNever = getInteger(empty) && getInteger(empty)->isZero();
  auto isScoreEmpty = [&](const Node *pair) {
    if (pair == empty && !isNever)
      return true;
    if (!pair->isa<arith::CmpFOp>() || !isNegativeInfinity(pair->operand(1)))
      return false;
    auto predicate = cast<arith::CmpFPredicateAttr>(pair->attribute).getValue();
    return predicate == arith::CmpFPredicate::OEQ &&
           (isNever ? withoutFactors(pair->operand(0)) == withoutFactors(score)
                    : getEmptiness(pair->operand(0)) == empty);
  };
  if (isRowReduction(condition, Combiner::And))
    return getInteger(condition->operand(0)) &&
           !getInteger(condition->operand(0))->isZero() &&
           isScoreEmpty(condition->operand(1));
  // Not one pair is visible.
  if (condition->isa<arith::XOrIOp>())
    for (unsigned side : {0, 1}) {
      const Node *some = condition->operand(side);
      if (isRowReduction(some, Combiner::Or) &&
          getInteger(condition->operand(1 - side)) &&
          getInteger(some->operand(0)) &&
          getInteger(some->operand(0))->isZero())
        return isScoreEmpty(graph.getNot(some->operand(1)));
    }
  // The greatest of what hides is -inf.
  if (condition->isa<arith::CmpFOp>() &&
      isNegativeInfinity(condition->operand(1)) &&
      cast<arith::CmpFPredicateAttr>(condition->attribute).getValue() ==
          arith::CmpFPredicate::OEQ) {
    const Node *greatest = condition->operand(0);
    return isRowReduction(greatest, Combiner::Maximum) &&
           isNegativeInfinity(greatest->operand(0)) &&
           (isNever
                ? withoutFactors(greatest->operand(1)) == withoutFactors(score)
                : getEmptiness(greatest->operand(1)) == empty);
  }
  return false;
}

LogicalResult SoftmaxMatcher::matchGuards() {
  // The sum of a row that sees no key is 0. But the difference of -inf and -inf
  // is NaN, and so is the sum then, unless such weights are set to 0 in it.
  const Node *visible = graph.getNot(getEmptiness(score));
  bool coversEmpty = llvm::is_contained(maskConditions, visible);
  bool isSumZero = coversEmpty || !(subtractsMaximum && mayBeEmpty(score));
  // Weights that are set to 0 hide other keys than scores of -inf do.
  bool hidesMore = llvm::any_of(
      maskConditions, [&](const Node *each) { return each != visible; });
  bool guardsEmptyScores = false, guardsSum = isSumGuarded;
  isGuarded = isSumGuarded && isSumZero;
  // exp(x - log(sum)) is a quotient, too.
  bool isLogarithm = !divisors.front();
  for (const Condition &guard : guards) {
    const Node *node = guard.node;
    bool isOfSum = node->isa<arith::CmpFOp>() && isReal(node->operand(1), 0) &&
                   cast<arith::CmpFPredicateAttr>(node->attribute).getValue() ==
                       arith::CmpFPredicate::OEQ &&
                   node->operand(0) == divisors.front();
    if (!isOfSum && !isEmptyRow(node))
      return refuse(node,
                    "rows of the softmax are set to 0 by a condition "
                    "that is not that they see no key",
                    5);
    // What is 0 before it is divided by a sum of 0 or NaN is NaN.
    if (!guard.isOfQuotient && !isLogarithm)
      continue;
    (isOfSum ? guardsSum : guardsEmptyScores) = true;
    isGuarded |= !isOfSum || isSumZero;
  }
  // Pairs that are 0 although their key counts in the denominator.
  for (const Condition &stays : kept) {
    // All that hides keys hides them in the quotient, too.
    if (!mayBeEmpty(score) && !maskConditions.empty() &&
        llvm::all_equal(maskConditions) &&
        stays.node == maskConditions.front()) {
      isGuarded = true;
      continue;
    }
    if (stays.node != visible)
      return refuse(stays.node, "elements of the softmax are set to 0", 5);
    guardsEmptyScores |= stays.isOfQuotient || isLogarithm;
    isGuarded |= stays.isOfQuotient || isLogarithm;
  }
  if (hidesMore && (guardsEmptyScores || (guardsSum && !isSumZero)))
    return refuse(weight,
                  "rows of the softmax are set to 0 by a part of the "
                  "conditions that hide keys",
                  5);
  return success();
}
