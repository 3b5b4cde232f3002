//===- FuseProducts.cpp - Sums that take a product along ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RewriteGreedily.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUFUSEPRODUCTSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;

/// A product of blocks that nothing else reads and that need not be rounded.
static arith::MulFOp getProduct(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  bool isFree = product && product->hasOneUse() &&
                isa<RankedTensorType>(product.getType()) &&
                arith::bitEnumContainsAll(product.getFastmath(),
                                          arith::FastMathFlags::contract);
  return isFree ? product : arith::MulFOp();
}

namespace {

/// a * b + c  ->  fma(a, b, c)
struct FuseSum : public OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [one, other] : {std::pair(op.getLhs(), op.getRhs()),
                              std::pair(op.getRhs(), op.getLhs())})
      if (arith::MulFOp product = getProduct(one)) {
        rewriter.replaceOpWithNewOp<math::FmaOp>(
            op, product.getLhs(), product.getRhs(), other, op.getFastmath());
        return success();
      }
    return rewriter.notifyMatchFailure(op, "adds no product that may be fused");
  }
};

/// a * b - c  ->  fma(a, b, -c); the sign costs nothing.
struct FuseDifference : public OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SubFOp op,
                                PatternRewriter &rewriter) const override {
    arith::MulFOp product = getProduct(op.getLhs());
    if (!product)
      return rewriter.notifyMatchFailure(op, "of no product that may be fused");
    Value negated = arith::NegFOp::create(rewriter, op.getLoc(), op.getRhs());
    rewriter.replaceOpWithNewOp<math::FmaOp>(
        op, product.getLhs(), product.getRhs(), negated, op.getFastmath());
    return success();
  }
};

struct FuseProductsPass
    : public fagpu::impl::FAGPUFuseProductsPassBase<FuseProductsPass> {
  void runOnOperation() override {
    if (!fagpu::isKernel(getOperation()))
      return;
    if (failed(fagpu::rewriteGreedily<FuseSum, FuseDifference>(getOperation())))
      signalPassFailure();
  }
};

} // namespace
