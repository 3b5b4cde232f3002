//===- ElementaryMath.h - Elementary functions in arithmetic ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of f32 for all arguments: subnormal numbers, infinities, NaN and
// signed zeros included. Errors are stated in the description of
// fagpu-expand-math. Coefficients are minimax fits for the largest relative
// error, made for this file; those in f64 are Taylor series.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_MATH_ELEMENTARYMATH_H
#define FA_LIB_CONVERSION_MATH_ELEMENTARYMATH_H

#include "FloatArithmetic.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

Value expandExp(FloatArithmetic &a, Value x);
Value expandExp2(FloatArithmetic &a, Value x);
/// exp(x) / 2, which is finite up to 89.4.
Value expandHalfExp(FloatArithmetic &a, Value x);
Value expandExpM1(FloatArithmetic &a, Value x);
Value expandLog(FloatArithmetic &a, Value x);
Value expandLog2(FloatArithmetic &a, Value x);
Value expandLog10(FloatArithmetic &a, Value x);
Value expandLog1p(FloatArithmetic &a, Value x);
Value expandSinh(FloatArithmetic &a, Value x);
Value expandCosh(FloatArithmetic &a, Value x);
Value expandAsinh(FloatArithmetic &a, Value x);
Value expandAcosh(FloatArithmetic &a, Value x);
Value expandAtanh(FloatArithmetic &a, Value x);
Value expandTanh(FloatArithmetic &a, Value x);
/// tanh(x), where `far` is tanh(|x|) for |x| from 0.625 on.
Value chooseTanh(FloatArithmetic &a, Value x, Value far);
Value expandErf(FloatArithmetic &a, Value x);
Value expandErfc(FloatArithmetic &a, Value x);
Value expandSin(FloatArithmetic &a, Value x);
Value expandCos(FloatArithmetic &a, Value x);
Value expandTan(FloatArithmetic &a, Value x);
Value expandAsin(FloatArithmetic &a, Value x);
Value expandAcos(FloatArithmetic &a, Value x);
Value expandAtan(FloatArithmetic &a, Value x);
/// The angle of the point (x, y).
Value expandAtan2(FloatArithmetic &a, Value y, Value x);
Value expandCbrt(FloatArithmetic &a, Value x);
Value expandPower(FloatArithmetic &a, Value x, Value y);
/// x to the power of an integer of up to 32 bits.
Value expandIntegerPower(FloatArithmetic &a, Value x, Value n);

/// C's fmod; exact where the quotient is below 2^53.
Value expandRemainder(FloatArithmetic &a, Value x, Value y);

// Shorter, for processors that compute many at a time: errors and ranges are
// those of fa-expand-math.
Value expandShortExp(FloatArithmetic &a, Value x);
Value expandShortExp2(FloatArithmetic &a, Value x);
Value expandShortLog(FloatArithmetic &a, Value x);
Value expandShortTanh(FloatArithmetic &a, Value x);

/// Replaces an operation on a scalar or vector of f32 by what `expand` makes of
/// its operands.
template <typename OpTy, auto expand>
struct ExpandPattern : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isa<FloatType, VectorType>(op.getType()) ||
        !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "no scalar or vector of f32");
    FloatArithmetic arithmetic(rewriter, op.getLoc(), op.getType());
    if constexpr (OpTy::template hasTrait<OpTrait::OneOperand>())
      rewriter.replaceOp(op, expand(arithmetic, op.getOperand()));
    else
      rewriter.replaceOp(op, expand(arithmetic, op.getLhs(), op.getRhs()));
    return success();
  }
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_MATH_ELEMENTARYMATH_H
