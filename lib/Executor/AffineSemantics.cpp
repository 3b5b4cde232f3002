//===- AffineSemantics.cpp - The affine dialect in the executor -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AffineEvaluation.h"
#include "KernelHelpers.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

FailureOr<int64_t> executor::evaluateAffine(AffineExpr expr,
                                            ArrayRef<int64_t> dims,
                                            ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  FailureOr<int64_t> lhs = evaluateAffine(binary.getLHS(), dims, symbols);
  FailureOr<int64_t> rhs = evaluateAffine(binary.getRHS(), dims, symbols);
  if (failed(lhs) || failed(rhs))
    return failure();
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *lhs + *rhs;
  case AffineExprKind::Mul:
    return *lhs * *rhs;
  default:
    break;
  }
  if (*rhs <= 0)
    return failure();
  int64_t remainder = ((*lhs % *rhs) + *rhs) % *rhs;
  if (expr.getKind() == AffineExprKind::Mod)
    return remainder;
  int64_t quotient = (*lhs - remainder) / *rhs;
  return expr.getKind() == AffineExprKind::FloorDiv
             ? quotient
             : quotient + (remainder > 0);
}

/// A kernel that evaluates every result of the map in each lane and reduces
/// them with `combine`.
template <typename OpT, typename Fn>
static void addMapped(Semantics &semantics, Fn combine) {
  semantics.addElementwise<OpT>([combine](OpT op) -> FailureOr<Kernel> {
    AffineMap map = op.getAffineMap();
    Operation *location = op;
    return Kernel([=](ArrayRef<const Slot *> in, ArrayRef<Slot *> out,
                      int64_t count) -> LogicalResult {
      SmallVector<int64_t> values(in.size());
      ArrayRef<int64_t> all(values);
      for (int64_t lane = 0; lane < count; ++lane) {
        for (size_t i = 0; i < in.size(); ++i)
          values[i] = in[i][lane].integer;
        for (auto [i, expr] : llvm::enumerate(map.getResults())) {
          FailureOr<int64_t> value =
              evaluateAffine(expr, all.take_front(map.getNumDims()),
                             all.drop_front(map.getNumDims()));
          if (failed(value))
            return location->emitError("division by a number below 1");
          int64_t &result = out[0][lane].integer;
          result = i == 0 ? *value : combine(result, *value);
        }
      }
      return success();
    });
  });
}

void executor::addAffineSemantics(Semantics &semantics) {
  addMapped<affine::AffineApplyOp>(semantics,
                                   [](int64_t a, int64_t) { return a; });
  addMapped<affine::AffineMinOp>(
      semantics, [](int64_t a, int64_t b) { return std::min(a, b); });
  addMapped<affine::AffineMaxOp>(
      semantics, [](int64_t a, int64_t b) { return std::max(a, b); });
}
