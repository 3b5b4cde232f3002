//===- PositiveFactors.h - Numbers times positive constants -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_POSITIVEFACTORS_H
#define FA_LIB_CONVERSION_TOFA_POSITIVEFACTORS_H

#include "ScalarNode.h"
#include <optional>

namespace mlir::fa {

/// A number times a positive constant: which operand the number is, and the
/// constant.
struct Scaling {
  unsigned side;
  double factor;
};

std::optional<Scaling> getScaling(const Node *node);

/// A number without the positive factors that multiply it: -inf just where the
/// product is.
const Node *withoutFactors(const Node *node);

/// `node` with the number in place of what its positive factors multiply.
const Node *replaceScaled(NodeGraph &graph, const Node *node,
                          const Node *number);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_POSITIVEFACTORS_H
