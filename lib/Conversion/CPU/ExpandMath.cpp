//===- ExpandMath.cpp - Functions of math without a library ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Math/ElementaryMath.h"
#include "fa/Conversion/CPU/Passes.h"
#include "fa/Conversion/Math/MathIdentities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAEXPANDMATH
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// A power of any integer by way of f64, which holds the base exactly and
/// exponents of up to 53 bits; longer ones are rounded, but for whether they
/// are odd. LLVM's operation takes one exponent for all lanes.
struct IntegerExponentPattern : public OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<TensorType>(op.getType()) ||
        getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() > 64)
      return rewriter.notifyMatchFailure(op, "no scalar or vector of f64 or "
                                             "narrower floats");
    Location loc = op.getLoc();
    Type single = withElement(op.getType(), rewriter.getF32Type());
    Type wide = withElement(op.getType(), rewriter.getF64Type());
    Value exponent = op.getRhs();
    if (getElementTypeOrSelf(exponent).isIndex())
      exponent = arith::IndexCastOp::create(
          rewriter, loc, withElement(exponent.getType(), rewriter.getI64Type()),
          exponent);
    Value integer = exponent;
    exponent = arith::SIToFPOp::create(rewriter, loc, wide, exponent);
    Value base = op.getLhs();
    if (base.getType() != wide)
      base = arith::ExtFOp::create(rewriter, loc, wide, base);
    bool isRounded = getElementTypeOrSelf(integer).getIntOrFloatBitWidth() > 53;
    FloatArithmetic arithmetic(rewriter, loc, wide);
    Value size = isRounded ? arithmetic.abs(base) : base;
    Value power = math::PowFOp::create(rewriter, loc, size, exponent);
    if (isRounded)
      power = arithmetic.select(arithmetic.isOdd(integer),
                                arithmetic.copySign(power, base), power);
    // Hosts convert f64 to no type of 16 bits.
    for (Type type : {single, op.getType()})
      if (op.getType() != wide && power.getType() != type)
        power = arith::TruncFOp::create(rewriter, loc, type, power);
    rewriter.replaceOp(op, power);
    return success();
  }
};

/// What upstream's passes leave of the arithmetic on bf16.
struct NarrowFmaPattern : public OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not on bf16");
    Type wide = withElement(op.getType(), rewriter.getF32Type());
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(
          arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand));
    Value sum = math::FmaOp::create(rewriter, op.getLoc(), operands[0],
                                    operands[1], operands[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), sum);
    return success();
  }
};
} // namespace

void mlir::fa::populateExpandMathPatterns(RewritePatternSet &patterns) {
  populateMathIdentityPatterns(patterns);
  patterns.add<IntegerExponentPattern, NarrowFmaPattern>(patterns.getContext());
  patterns.add<ExpandPattern<math::ExpOp, expandShortExp>,
               ExpandPattern<math::Exp2Op, expandShortExp2>,
               ExpandPattern<math::LogOp, expandShortLog>,
               ExpandPattern<math::TanhOp, expandShortTanh>>(
      patterns.getContext());
}

namespace {
struct ExpandMathPass : public fa::impl::FAExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
