//===- IndexToArith.cpp - Operations on indices as those of arith ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/ComparisonPredicate.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAINDEXTOARITHPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

namespace {

/// An operation with the same operands and results.
template <typename From, typename To>
struct SameOperands : public OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;

  LogicalResult matchAndRewrite(From op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<To>(op, op->getResultTypes(),
                                    op->getOperands());
    return success();
  }
};

struct ConstantPattern : public OpRewritePattern<index::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(index::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, op.getValueAttr());
    return success();
  }
};

struct BoolPattern : public OpRewritePattern<index::BoolConstantOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(index::BoolConstantOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, op.getValueAttr());
    return success();
  }
};

struct ComparePattern : public OpRewritePattern<index::CmpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(index::CmpOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, fa::getPredicate(op),
                                               op.getLhs(), op.getRhs());
    return success();
  }
};

/// An affine sum, or the least or the greatest of several.
template <typename From, typename Join>
struct AffinePattern : public OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;

  LogicalResult matchAndRewrite(From op,
                                PatternRewriter &rewriter) const override {
    auto results = affine::expandAffineMap(
        rewriter, op.getLoc(), op.getAffineMap(), op->getOperands());
    if (!results)
      return rewriter.notifyMatchFailure(op, "has no form as arithmetic");
    Value joined = results->front();
    for (Value result : ArrayRef(*results).drop_front())
      joined = Join::create(rewriter, op.getLoc(), joined, result);
    rewriter.replaceOp(op, joined);
    return success();
  }
};

/// Indices of the caller that do not wrap in 64 bits may leave 32, and kernels
/// take a mark for these.
static void dropMarks(func::FuncOp function) {
  auto none = arith::IntegerOverflowFlagsAttr::get(
      function.getContext(), arith::IntegerOverflowFlags::none);
  function.walk([&](arith::ArithIntegerOverflowFlagsInterface op) {
    if (op->getResult(0).getType().isIndex())
      op->setAttr(op.getIntegerOverflowAttrName(), none);
  });
}

struct IndexToArithPass
    : public fa::impl::FAIndexToArithPassBase<IndexToArithPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SameOperands<index::AddOp, arith::AddIOp>,
                 SameOperands<index::SubOp, arith::SubIOp>,
                 SameOperands<index::MulOp, arith::MulIOp>,
                 SameOperands<index::DivSOp, arith::DivSIOp>,
                 SameOperands<index::DivUOp, arith::DivUIOp>,
                 SameOperands<index::CeilDivSOp, arith::CeilDivSIOp>,
                 SameOperands<index::CeilDivUOp, arith::CeilDivUIOp>,
                 SameOperands<index::FloorDivSOp, arith::FloorDivSIOp>,
                 SameOperands<index::RemSOp, arith::RemSIOp>,
                 SameOperands<index::RemUOp, arith::RemUIOp>,
                 SameOperands<index::MaxSOp, arith::MaxSIOp>,
                 SameOperands<index::MaxUOp, arith::MaxUIOp>,
                 SameOperands<index::MinSOp, arith::MinSIOp>,
                 SameOperands<index::MinUOp, arith::MinUIOp>,
                 SameOperands<index::ShlOp, arith::ShLIOp>,
                 SameOperands<index::ShrSOp, arith::ShRSIOp>,
                 SameOperands<index::ShrUOp, arith::ShRUIOp>,
                 SameOperands<index::AndOp, arith::AndIOp>,
                 SameOperands<index::OrOp, arith::OrIOp>,
                 SameOperands<index::XOrOp, arith::XOrIOp>,
                 SameOperands<index::CastSOp, arith::IndexCastOp>,
                 SameOperands<index::CastUOp, arith::IndexCastUIOp>,
                 AffinePattern<affine::AffineApplyOp, arith::AddIOp>,
                 AffinePattern<affine::AffineMinOp, arith::MinSIOp>,
                 AffinePattern<affine::AffineMaxOp, arith::MaxSIOp>,
                 ConstantPattern, BoolPattern, ComparePattern>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    getOperation()->walk([](func::FuncOp function) {
      if (!fagpu::isKernel(function))
        dropMarks(function);
    });
  }
};

} // namespace
