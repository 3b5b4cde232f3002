//===- MathApproximations.cpp - Fast math to NVVM approximations
//--------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_CONVERTMATHTONVVMAPPROXIMATIONSPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
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
    patterns.add<DividePattern, TanhPattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
