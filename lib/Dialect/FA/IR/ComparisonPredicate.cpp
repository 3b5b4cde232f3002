//===- ComparisonPredicate.cpp - Of comparisons of integers ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/ComparisonPredicate.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;

arith::CmpIPredicate mlir::fa::getPredicate(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate();
  using From = index::IndexCmpPredicate;
  using To = arith::CmpIPredicate;
  switch (cast<index::CmpOp>(op).getPred()) {
  case From::EQ:
    return To::eq;
  case From::NE:
    return To::ne;
  case From::SLT:
    return To::slt;
  case From::SLE:
    return To::sle;
  case From::SGT:
    return To::sgt;
  case From::SGE:
    return To::sge;
  case From::ULT:
    return To::ult;
  case From::ULE:
    return To::ule;
  case From::UGT:
    return To::ugt;
  case From::UGE:
    return To::uge;
  }
  llvm_unreachable("unknown predicate");
}
