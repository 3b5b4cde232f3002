//===- OperandsFirst.h - Walks over what values are made of -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A function that calls itself for each operand takes 2^n steps for a chain of
// n values that use the one before twice, and a stack as deep as the chain is
// long. What learns something of a value from what is known of its operands
// asks for them in order here, and remembers what it learned.
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_OPERANDSFIRST_H
#define FA_SUPPORT_OPERANDSFIRST_H

#include "mlir/IR/Operation.h"

namespace mlir::fa {

/// Calls `visit` with `value` behind all that it is computed from, each value
/// once, as a recursion over operands from the first to the last would. What
/// `isKnown` and what is behind that is left out: what is visited must be known
/// from then on. `getOperands` gives what an operation reads.
template <typename IsKnownT, typename VisitT, typename GetOperandsT>
void visitOperandsFirst(Value value, IsKnownT isKnown, VisitT visit,
                        GetOperandsT getOperands) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.back();
    size_t size = pending.size();
    if (Operation *op = next.getDefiningOp(); op && !isKnown(next)) {
      auto operands = getOperands(op);
      for (Value operand : llvm::reverse(operands))
        if (!isKnown(operand))
          pending.push_back(operand);
    }
    if (pending.size() > size)
      continue;
    pending.pop_back();
    if (!isKnown(next))
      visit(next);
  }
}

template <typename IsKnownT, typename VisitT>
void visitOperandsFirst(Value value, IsKnownT isKnown, VisitT visit) {
  visitOperandsFirst(value, isKnown, visit,
                     [](Operation *op) { return op->getOperands(); });
}

} // namespace mlir::fa

#endif // FA_SUPPORT_OPERANDSFIRST_H
