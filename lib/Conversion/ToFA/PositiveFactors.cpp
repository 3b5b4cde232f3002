//===- PositiveFactors.cpp - Numbers times positive constants -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PositiveFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

std::optional<Scaling> mlir::fa::getScaling(const Node *node) {
  bool multiplies = node->isa<arith::MulFOp>();
  if (!multiplies && !node->isa<arith::DivFOp>())
    return std::nullopt;
  std::optional<double> right = getDouble(node->operand(1)),
                        left = getDouble(node->operand(0));
  if (right && *right > 0)
    return Scaling{0, multiplies ? *right : 1 / *right};
  if (multiplies && left && *left > 0)
    return Scaling{1, *left};
  return std::nullopt;
}

const Node *mlir::fa::withoutFactors(const Node *node) {
  while (std::optional<Scaling> scaling = getScaling(node))
    node = node->operand(scaling->side);
  return node;
}

const Node *mlir::fa::replaceScaled(NodeGraph &graph, const Node *node,
                                    const Node *number) {
  std::optional<Scaling> scaling = getScaling(node);
  if (!scaling)
    return number;
  SmallVector<const Node *> operands(node->operands.begin(),
                                     node->operands.end());
  const Node *&scaled = operands[scaling->side];
  scaled = replaceScaled(graph, scaled, number);
  return graph.getOp(*node->name, operands, node->type, node->source);
}
