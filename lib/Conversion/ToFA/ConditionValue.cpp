//===- ConditionValue.cpp - Whether a condition always holds --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

/// Deeper conditions are not evaluated: each level may double the work.
constexpr unsigned maxConditionDepth = 14;

/// An integer as a linear form, with `by` in place of the variable.
static std::optional<IndexForm>
evaluateInteger(const Variables &variables, const Node *node, unsigned variable,
                const IndexForm &by, unsigned depth = 0) {
  if (depth > maxConditionDepth)
    return std::nullopt;
  if (node->kind == NodeKind::Index)
    return node->form.replace(variable, by);
  if (std::optional<APInt> constant = getInteger(node))
    return IndexForm(constant->getSExtValue());
  if (node->kind != NodeKind::Op)
    return std::nullopt;
  auto get = [&](unsigned position) {
    return evaluateInteger(variables, node->operand(position), variable, by,
                           depth + 1);
  };
  if (node->isa<arith::IndexCastOp>() || node->isa<arith::ExtSIOp>() ||
      node->isa<arith::TruncIOp>()) {
    // Indices are below 2^30.
    Type type = node->type;
    if (!type.isIndex() && type.getIntOrFloatBitWidth() < 32)
      return std::nullopt;
    std::optional<IndexForm> form = get(0);
    auto range = form ? variables.getRange(*form) : std::nullopt;
    // What is computed of indices may not be.
    if (range && type.isInteger(32) &&
        (range->first < llvm::minIntN(32) || range->second > llvm::maxIntN(32)))
      return std::nullopt;
    return form;
  }
  if (node->operands.size() != 2)
    return std::nullopt;
  auto left = get(0), right = get(1);
  if (!left || !right)
    return std::nullopt;
  std::optional<IndexForm> form;
  if (node->isa<arith::AddIOp>())
    form = *left + *right;
  else if (node->isa<arith::SubIOp>())
    form = *left + *right * -1;
  else if (node->isa<arith::MulIOp>() && right->isConstant())
    form = *left * right->constant;
  else if (node->isa<arith::MulIOp>() && left->isConstant())
    form = *right * left->constant;
  if (!form || node->type.isIndex() || node->type.isInteger(64))
    return form;
  // What may wrap is not known.
  unsigned width = node->type.getIntOrFloatBitWidth();
  auto range = variables.getRange(*form);
  if (!range || width > 64 || range->first < llvm::minIntN(width) ||
      range->second > llvm::maxIntN(width))
    return std::nullopt;
  return form;
}

std::optional<bool> mlir::fa::evaluateCondition(NodeGraph &graph,
                                                const Node *condition,
                                                unsigned variable,
                                                const IndexForm &by,
                                                unsigned depth) {
  if (depth > maxConditionDepth)
    return std::nullopt;
  if (std::optional<APInt> constant = getInteger(condition))
    return !constant->isZero();
  bool isAnd = condition->isa<arith::AndIOp>();
  if (isAnd || condition->isa<arith::OrIOp>()) {
    auto left = evaluateCondition(graph, condition->operand(0), variable, by,
                                  depth + 1),
         right = evaluateCondition(graph, condition->operand(1), variable, by,
                                   depth + 1);
    // False settles a conjunction, true a disjunction.
    if ((left && *left != isAnd) || (right && *right != isAnd))
      return !isAnd;
    return left && right ? std::optional(isAnd) : std::nullopt;
  }
  if (condition->isa<arith::XOrIOp>()) {
    auto left = evaluateCondition(graph, condition->operand(0), variable, by,
                                  depth + 1),
         right = evaluateCondition(graph, condition->operand(1), variable, by,
                                   depth + 1);
    return left && right ? std::optional(*left != *right) : std::nullopt;
  }
  if (condition->isa<arith::SelectOp>()) {
    auto which = evaluateCondition(graph, condition->operand(0), variable, by,
                                   depth + 1);
    if (!which)
      return std::nullopt;
    return evaluateCondition(graph, condition->operand(*which ? 1 : 2),
                             variable, by, depth + 1);
  }
  if (!condition->isa<arith::CmpIOp>())
    return std::nullopt;
  auto left = evaluateInteger(graph.getVariables(), condition->operand(0),
                              variable, by),
       right = evaluateInteger(graph.getVariables(), condition->operand(1),
                               variable, by);
  if (!left || !right)
    return std::nullopt;
  IndexForm difference = *left + *right * -1;
  auto range = graph.getVariables().getRange(difference);
  if (!range)
    return std::nullopt;
  auto [low, high] = *range;
  auto isAlways = [&](bool always, bool never) -> std::optional<bool> {
    if (always)
      return true;
    return never ? std::optional(false) : std::nullopt;
  };
  using Predicate = arith::CmpIPredicate;
  switch (cast<arith::CmpIPredicateAttr>(condition->attribute).getValue()) {
  case Predicate::eq:
    return isAlways(low == 0 && high == 0, low > 0 || high < 0);
  case Predicate::ne:
    return isAlways(low > 0 || high < 0, low == 0 && high == 0);
  case Predicate::slt:
    return isAlways(high < 0, low >= 0);
  case Predicate::sle:
    return isAlways(high <= 0, low > 0);
  case Predicate::sgt:
    return isAlways(low > 0, high <= 0);
  case Predicate::sge:
    return isAlways(low >= 0, high < 0);
  default:
    return std::nullopt;
  }
}
