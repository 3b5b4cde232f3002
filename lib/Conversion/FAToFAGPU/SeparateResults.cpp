//===- SeparateResults.cpp - One result for each operation ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASEPARATERESULTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// A scalar integer whose products 64 bits hold, whatever its sign.
static bool isShort(Type type) {
  return type.isInteger() && type.getIntOrFloatBitWidth() <= 32;
}

/// The upper half of the product of signed integers.
static Value createUpperProduct(OpBuilder &builder, Location loc, Value a,
                                Value b) {
  Type type = a.getType(), i64 = builder.getI64Type();
  Value product = arith::MulIOp::create(
      builder, loc, arith::ExtSIOp::create(builder, loc, i64, a),
      arith::ExtSIOp::create(builder, loc, i64, b));
  Value width = arith::ConstantIntOp::create(builder, loc, i64,
                                             type.getIntOrFloatBitWidth());
  Value upper = arith::ShRSIOp::create(builder, loc, product, width);
  return arith::TruncIOp::create(builder, loc, type, upper);
}

/// `number` where `sign` is negative, else 0.
static Value createWhereNegative(OpBuilder &builder, Location loc, Value sign,
                                 Value number) {
  Value zero = arith::ConstantIntOp::create(builder, loc, number.getType(), 0);
  Value isNegative = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, sign, zero);
  return arith::SelectOp::create(builder, loc, isNegative, number, zero);
}

namespace {

struct SignedProduct : public OpRewritePattern<arith::MulSIExtendedOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulSIExtendedOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value a = op.getLhs(), b = op.getRhs();
    if (!isShort(a.getType()))
      return failure();
    Value low = arith::MulIOp::create(rewriter, loc, a, b);
    rewriter.replaceOp(op, {low, createUpperProduct(rewriter, loc, a, b)});
    return success();
  }
};

/// Read as unsigned, what is negative is larger by 2 to the number of bits.
struct UnsignedProduct : public OpRewritePattern<arith::MulUIExtendedOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulUIExtendedOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value a = op.getLhs(), b = op.getRhs();
    if (!isShort(a.getType()))
      return failure();
    Value low = arith::MulIOp::create(rewriter, loc, a, b);
    Value high = createUpperProduct(rewriter, loc, a, b);
    for (auto [sign, number] : {std::pair(a, b), std::pair(b, a)})
      high = arith::AddIOp::create(
          rewriter, loc, high,
          createWhereNegative(rewriter, loc, sign, number));
    rewriter.replaceOp(op, {low, high});
    return success();
  }
};

struct Sum : public OpRewritePattern<arith::AddUIExtendedOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddUIExtendedOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value a = op.getLhs();
    Value sum = arith::AddIOp::create(rewriter, loc, a, op.getRhs());
    Value overflow =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, sum, a);
    rewriter.replaceOp(op, {sum, overflow});
    return success();
  }
};

struct SineAndCosine : public OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value angle = op.getOperand();
    Value sine =
        math::SinOp::create(rewriter, loc, angle, op.getFastmathAttr());
    Value cosine =
        math::CosOp::create(rewriter, loc, angle, op.getFastmathAttr());
    rewriter.replaceOp(op, {sine, cosine});
    return success();
  }
};

struct SeparateResultsPass
    : public fa::impl::FASeparateResultsPassBase<SeparateResultsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SignedProduct, UnsignedProduct, Sum, SineAndCosine>(
        &getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    auto check = [](PairRegionsOpInterface op) {
      for (const PairRegion &pairs : op.getPairRegions())
        for (Operation &nested : pairs.region->getOps())
          if (nested.getNumResults() > 1) {
            nested.emitOpError()
                << "on " << nested.getResult(0).getType()
                << " has no form on a GPU, expected integers of up to 32 bits";
            return WalkResult::interrupt();
          }
      return WalkResult::advance();
    };
    if (getOperation()->walk(check).wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
