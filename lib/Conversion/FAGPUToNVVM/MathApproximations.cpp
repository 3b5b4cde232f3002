//===- MathApproximations.cpp - Fast math to NVVM approximations ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Math/ElementaryMath.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_CONVERTMATHTONVVMAPPROXIMATIONSPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {

template <typename Op> class IntrinsicPattern : public OpRewritePattern<Op> {
public:
  IntrinsicPattern(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<Op>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() ||
        !bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr(intrinsic),
        ValueRange{op.getOperand()});
    return success();
  }

private:
  StringRef intrinsic;
};

/// The function of LLVM whose approximation is an instruction.
struct TanhPattern : public OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() ||
        !bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
      return failure();
    auto call = rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr("llvm.tanh"),
        ValueRange{op.getOperand()});
    call.setFastmathFlags(LLVM::FastmathFlags::afn);
    return success();
  }
};

/// Where a reciprocal may be taken: a polynomial near zero, and
/// 1 - 2 / (exp(2 x) + 1) elsewhere, by the device's instructions.
struct TanhByReciprocalPattern : public OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op,
                                PatternRewriter &rewriter) const override {
    arith::FastMathFlags flags = op.getFastmath();
    if (!op.getType().isF32() ||
        !bitEnumContainsAll(flags, arith::FastMathFlags::arcp) ||
        bitEnumContainsAny(flags, arith::FastMathFlags::afn))
      return failure();
    FloatArithmetic a(rewriter, op.getLoc(), op.getType());
    Value x = op.getOperand(), size = a.abs(x);
    Value power = LLVM::CallIntrinsicOp::create(
                      rewriter, op.getLoc(), op.getType(),
                      rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
                      ValueRange{a.mul(size, a.number(2.88539008f))})
                      .getResult(0);
    Value reciprocal = NVVM::RcpApproxFtzF32Op::create(
        rewriter, op.getLoc(), op.getType(), a.add(power, a.number(1.0f)));
    Value far = a.fma(reciprocal, a.number(-2.0f), a.number(1.0f));
    rewriter.replaceOp(op, chooseTanh(a, x, far));
    return success();
  }
};

struct DividePattern : public OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    auto needed = arith::FastMathFlags::arcp | arith::FastMathFlags::afn;
    if (!op.getType().isF32() || !bitEnumContainsAll(op.getFastmath(), needed))
      return failure();
    Value reciprocal = NVVM::RcpApproxFtzF32Op::create(
        rewriter, op.getLoc(), op.getType(), op.getRhs());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getLhs(), reciprocal);
    return success();
  }
};

struct ConvertMathToNVVMApproximationsPass
    : public fagpu::impl::ConvertMathToNVVMApproximationsPassBase<
          ConvertMathToNVVMApproximationsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<IntrinsicPattern<math::Exp2Op>>(
        &getContext(), "llvm.nvvm.ex2.approx.ftz.f32");
    patterns.add<IntrinsicPattern<math::Log2Op>>(&getContext(),
                                                 "llvm.nvvm.lg2.approx.ftz.f");
    patterns.add<IntrinsicPattern<math::RsqrtOp>>(
        &getContext(), "llvm.nvvm.rsqrt.approx.ftz.f");
    patterns.add<DividePattern, TanhPattern, TanhByReciprocalPattern>(
        &getContext());
    // None makes what another takes, and what folds is folded before.
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
