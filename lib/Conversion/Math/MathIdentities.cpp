//===- MathIdentities.cpp - Operations of math by simpler ones ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces operations of the math dialect by simpler ones, with no
// approximation: clampf, sincos, tests for NaN and infinity, integer powers.
// One pattern an operation; powers, by repeated squaring, are the only long
// ones: see `IntegerPowerPattern`.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Math/MathIdentities.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

/// A number of `type`, or of each element of it.
static Value makeConstant(OpBuilder &builder, Location loc, Type type,
                          TypedAttr element) {
  TypedAttr value = element;
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, Attribute(element));
  return arith::ConstantOp::create(builder, loc, type, value);
}

static Value makeFloat(OpBuilder &builder, Location loc, Type type,
                       const APFloat &number) {
  return makeConstant(
      builder, loc, type,
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(type)), number));
}

static Value makeInteger(OpBuilder &builder, Location loc, Type type,
                         int64_t number) {
  return makeConstant(
      builder, loc, type,
      builder.getIntegerAttr(getElementTypeOrSelf(type), number));
}

namespace {
struct ClampPattern : public OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value raised = arith::MaximumFOp::create(
        rewriter, op.getLoc(), op.getValue(), op.getMin(), op.getFastmath());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, raised, op.getMax(),
                                                   op.getFastmath());
    return success();
  }
};

/// A question about one number, by `answer` for its size.
template <typename OpTy, Value (*answer)(OpBuilder &, Location, Value,
                                         const llvm::fltSemantics &)>
struct ClassifyPattern : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<FloatType>(getElementTypeOrSelf(op.getOperand()));
    Value size = math::AbsFOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(
        op, answer(rewriter, op.getLoc(), size, type.getFloatSemantics()));
    return success();
  }
};

struct SincosPattern : public OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Value sine = math::SinOp::create(rewriter, op.getLoc(), op.getOperand(),
                                     op.getFastmath());
    Value cosine = math::CosOp::create(rewriter, op.getLoc(), op.getOperand(),
                                       op.getFastmath());
    rewriter.replaceOp(op, {sine, cosine});
    return success();
  }
};
} // namespace

static Value compare(OpBuilder &builder, Location loc,
                     arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}

static Value isNaN(OpBuilder &builder, Location loc, Value size,
                   const llvm::fltSemantics &) {
  return compare(builder, loc, arith::CmpFPredicate::UNO, size, size);
}

static Value isInfinite(OpBuilder &builder, Location loc, Value size,
                        const llvm::fltSemantics &semantics) {
  return compare(
      builder, loc, arith::CmpFPredicate::OEQ, size,
      makeFloat(builder, loc, size.getType(), APFloat::getInf(semantics)));
}

static Value isFinite(OpBuilder &builder, Location loc, Value size,
                      const llvm::fltSemantics &semantics) {
  return compare(
      builder, loc, arith::CmpFPredicate::OLT, size,
      makeFloat(builder, loc, size.getType(), APFloat::getInf(semantics)));
}

static Value isNormal(OpBuilder &builder, Location loc, Value size,
                      const llvm::fltSemantics &semantics) {
  Value least = makeFloat(builder, loc, size.getType(),
                          APFloat::getSmallestNormalized(semantics));
  Value isLarge = compare(builder, loc, arith::CmpFPredicate::OGE, size, least);
  return arith::AndIOp::create(builder, loc, isLarge,
                               isFinite(builder, loc, size, semantics));
}

/// `base` to the power of `exponent`, at least 1, by squaring.
template <typename MulOp>
static Value multiply(OpBuilder &builder, Location loc, Value base,
                      uint64_t exponent) {
  Value result;
  for (Value factor = base; exponent; exponent >>= 1) {
    if (exponent & 1)
      result = result ? MulOp::create(builder, loc, result, factor) : factor;
    if (exponent > 1)
      factor = MulOp::create(builder, loc, factor, factor);
  }
  return result;
}

static std::optional<APInt> getConstant(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number;
  return std::nullopt;
}

namespace {
/// Squares the base for each bit of the exponent that may be set.
struct IntegerPowerPattern : public OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IPowIOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (isa<TensorType>(op.getType()) || element.isInteger(1) ||
        (!element.isIndex() && element.getIntOrFloatBitWidth() > 64))
      return rewriter.notifyMatchFailure(op, "no scalar or vector of integers "
                                             "of 2 to 64 bits");
    Location loc = op.getLoc();
    Value base = op.getLhs(), exponent = op.getRhs();
    Value one = makeInteger(rewriter, loc, op.getType(), 1);
    std::optional<APInt> number = getConstant(exponent);
    if (number && number->isZero())
      rewriter.replaceOp(op, one);
    else if (number && number->isStrictlyPositive())
      rewriter.replaceOp(op, multiply<arith::MulIOp>(rewriter, loc, base,
                                                     number->getZExtValue()));
    else
      rewriter.replaceOp(op, expand(rewriter, loc, base, exponent, one));
    return success();
  }

private:
  static Value expand(OpBuilder &builder, Location loc, Value base,
                      Value exponent, Value one);
};
} // namespace

Value IntegerPowerPattern::expand(OpBuilder &builder, Location loc, Value base,
                                  Value exponent, Value one) {
  Type type = base.getType(), element = getElementTypeOrSelf(type);
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    return Value(arith::CmpIOp::create(builder, loc, predicate, a, b));
  };
  auto select = [&](Value condition, Value a, Value b) {
    return Value(arith::SelectOp::create(builder, loc, condition, a, b));
  };
  Value zero = makeInteger(builder, loc, type, 0), result = one, factor = base;
  Value isOdd;
  // The highest bit is the sign.
  for (unsigned bit = 0; bit + 1 < width; ++bit) {
    Value mask = makeInteger(builder, loc, type, int64_t(1) << bit);
    Value isSet =
        compare(arith::CmpIPredicate::ne,
                arith::AndIOp::create(builder, loc, exponent, mask), zero);
    isOdd = isOdd ? isOdd : isSet;
    result = select(isSet, arith::MulIOp::create(builder, loc, result, factor),
                    result);
    if (bit + 2 < width)
      factor = arith::MulIOp::create(builder, loc, factor, factor);
  }
  // 1 / base^n as an integer.
  Value minusOne = makeInteger(builder, loc, type, -1);
  Value ofMinusOne = select(isOdd, minusOne, one);
  Value inverse =
      select(compare(arith::CmpIPredicate::eq, base, one), one,
             select(compare(arith::CmpIPredicate::eq, base, minusOne),
                    ofMinusOne, zero));
  Value isNegative = compare(arith::CmpIPredicate::slt, exponent, zero);
  return select(isNegative, inverse, result);
}

namespace {
struct ConstantPowerPattern : public OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<APInt> number = getConstant(op.getRhs());
    if (!number || number->isNegative() || number->ugt(8))
      return rewriter.notifyMatchFailure(op, "no constant from 0 to 8");
    if (number->isZero())
      rewriter.replaceOp(
          op, makeConstant(rewriter, op.getLoc(), op.getType(),
                           rewriter.getFloatAttr(
                               getElementTypeOrSelf(op.getType()), 1.0)));
    else
      rewriter.replaceOp(op, multiply<arith::MulFOp>(rewriter, op.getLoc(),
                                                     op.getLhs(),
                                                     number->getZExtValue()));
    return success();
  }
};
} // namespace

void mlir::fa::populateMathIdentityPatterns(RewritePatternSet &patterns) {
  patterns.add<ClampPattern, ClassifyPattern<math::IsNaNOp, isNaN>,
               ClassifyPattern<math::IsInfOp, isInfinite>,
               ClassifyPattern<math::IsFiniteOp, isFinite>,
               ClassifyPattern<math::IsNormalOp, isNormal>, SincosPattern,
               IntegerPowerPattern, ConstantPowerPattern>(
      patterns.getContext());
}
