//===- ComparisonPredicate.h - Of comparisons of integers -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_COMPARISONPREDICATE_H
#define FA_DIALECT_FA_IR_COMPARISONPREDICATE_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {

/// The predicate of arith.cmpi, or that of index.cmp as arith has it.
arith::CmpIPredicate getPredicate(Operation *op);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_COMPARISONPREDICATE_H
