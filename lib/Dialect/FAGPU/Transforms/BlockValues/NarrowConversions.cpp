//===- NarrowConversions.cpp - Convert indices as scalars and vectors -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts row and column indices to f32 before they are added to a matrix,
// not after: one conversion a row and a column instead of one an element.
// `IndexSum` takes the integer sum apart; `NarrowConversion` adds the
// converted parts.
//
//===----------------------------------------------------------------------===//

#include "RewriteGreedily.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUNARROWCONVERSIONSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// A sum of scalars, rows and columns that a matrix of i32 is.
struct IndexSum {
  /// A scalar, and whether it is subtracted.
  SmallVector<std::pair<Value, bool>> scalars;
  /// How often the number of the row and of the column are in it.
  int64_t rows = 0, columns = 0;
  int64_t constant = 0;
  /// The vector of which the rows are.
  Type rowType;

  bool collect(Value value, bool isMatrix, bool isNegative);

private:
  /// A sum of more is left as it is: each use of a part is one more part.
  unsigned remainingParts = 64;

  bool collectIota(IotaOp iota, bool isMatrix, bool isNegative);
};

} // namespace

bool IndexSum::collectIota(IotaOp iota, bool isMatrix, bool isNegative) {
  if (iota.getPart() != IndexPart::all)
    return false;
  auto type = cast<RankedTensorType>(iota.getType());
  bool isRow = isMatrix ? iota.getDim() == 0
                        : isa_and_present<RowLayoutAttr>(type.getEncoding());
  if (!isRow && !isMatrix &&
      !isa_and_present<ColumnLayoutAttr>(type.getEncoding()))
    return false;
  if (isRow && !isMatrix)
    rowType = type;
  (isRow ? rows : columns) += isNegative ? -1 : 1;
  return true;
}

bool IndexSum::collect(Value value, bool isMatrix, bool isNegative) {
  if (remainingParts == 0)
    return false;
  --remainingParts;
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number))) {
    constant += isNegative ? -number.getSExtValue() : number.getSExtValue();
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (auto spread = dyn_cast_if_present<BroadcastOp>(op))
    return collect(spread.getSource(), /*isMatrix=*/false, isNegative);
  if (auto splat = dyn_cast_if_present<tensor::SplatOp>(op)) {
    scalars.push_back({splat.getInput(), isNegative});
    return true;
  }
  if (auto iota = dyn_cast_if_present<IotaOp>(op))
    return collectIota(iota, isMatrix, isNegative);
  if (isa_and_present<arith::AddIOp, arith::SubIOp>(op))
    return collect(op->getOperand(0), isMatrix, isNegative) &&
           collect(op->getOperand(1), isMatrix,
                   isNegative != isa<arith::SubIOp>(op));
  return false;
}

namespace {

/// real(scalars + row - column) -> real(scalars) + real(row) - real(column)
struct NarrowConversion : public OpRewritePattern<arith::SIToFPOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SIToFPOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || type.getRank() != 2 || !type.getElementType().isF32() ||
        !getElementTypeOrSelf(op.getIn()).isInteger(32) ||
        op.getIn().getDefiningOp<IotaOp>())
      return rewriter.notifyMatchFailure(op, "no matrix of 32-bit indices");
    IndexSum sum;
    if (!sum.collect(op.getIn(), /*isMatrix=*/true, /*isNegative=*/false) ||
        std::abs(sum.rows) > 1 || std::abs(sum.columns) > 1 ||
        (sum.rows && !sum.rowType))
      return rewriter.notifyMatchFailure(op, "no sum of indices");
    rewriter.replaceOp(op, rebuild(op.getLoc(), type, sum, rewriter));
    return success();
  }

private:
  static Value addScalars(Location loc, const IndexSum &sum,
                          PatternRewriter &rewriter) {
    Value total = arith::ConstantIntOp::create(rewriter, loc, sum.constant, 32);
    for (auto [scalar, isNegative] : sum.scalars)
      total =
          isNegative
              ? arith::SubIOp::create(rewriter, loc, total, scalar).getResult()
              : arith::AddIOp::create(rewriter, loc, total, scalar).getResult();
    return arith::SIToFPOp::create(rewriter, loc, rewriter.getF32Type(), total);
  }

  static Value join(Location loc, int64_t sign, Value a, Value b,
                    PatternRewriter &rewriter) {
    if (sign < 0)
      return arith::SubFOp::create(rewriter, loc, a, b);
    return arith::AddFOp::create(rewriter, loc, a, b);
  }

  static Value convertIota(Location loc, RankedTensorType type, int64_t dim,
                           PatternRewriter &rewriter) {
    Value number = IotaOp::create(
        rewriter, loc, type.clone(rewriter.getI32Type()), dim, IndexPart::all);
    return arith::SIToFPOp::create(rewriter, loc,
                                   type.clone(rewriter.getF32Type()), number);
  }

  static Value rebuild(Location loc, RankedTensorType type, const IndexSum &sum,
                       PatternRewriter &rewriter) {
    Value total = addScalars(loc, sum, rewriter);
    Type f32 = rewriter.getF32Type();
    if (sum.rows) {
      auto vector = cast<RankedTensorType>(sum.rowType);
      Value all = tensor::SplatOp::create(rewriter, loc, vector.clone(f32),
                                          total, ValueRange());
      total = join(loc, sum.rows, all, convertIota(loc, vector, 0, rewriter),
                   rewriter);
      total = BroadcastOp::create(rewriter, loc, type, total);
    } else {
      total = tensor::SplatOp::create(rewriter, loc, type, total, ValueRange());
    }
    if (sum.columns)
      total = join(loc, sum.columns, total, convertIota(loc, type, 1, rewriter),
                   rewriter);
    return total;
  }
};

struct NarrowConversionsPass
    : public fagpu::impl::FAGPUNarrowConversionsPassBase<
          NarrowConversionsPass> {
  void runOnOperation() override {
    if (failed(fagpu::rewriteGreedily<NarrowConversion>(getOperation())))
      signalPassFailure();
  }
};
} // namespace
