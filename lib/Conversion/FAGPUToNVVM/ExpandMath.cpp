//===- ExpandMath.cpp - Elementary functions without a library ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUEXPANDMATHPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;
using fa::FloatArithmetic;

namespace {
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

/// 16-bit floats by way of f32, whose error is far below their last place.
template <typename OpTy> struct WidenPattern : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    if (!isa<FloatType, VectorType>(type) ||
        !(element.isF16() || element.isBF16()))
      return rewriter.notifyMatchFailure(op,
                                         "no scalar or vector of f16, bf16");
    Type wide = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand));
    Value result = OpTy::create(rewriter, op.getLoc(), TypeRange(wide),
                                operands, op->getAttrs());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
    return success();
  }
};

/// Whether the device has instructions for it, or a few of them.
bool hasInstructions(Operation *op) {
  if (!isa<math::MathDialect>(op->getDialect()))
    return true;
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
          math::FloorOp, math::FmaOp, math::RoundOp, math::RoundEvenOp,
          math::TruncOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp,
          math::CtPopOp>(op))
    return true;
  // These are rounded correctly, and f32 or f64.
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return isa<math::SqrtOp, math::RsqrtOp>(op) &&
         (element.isF32() || element.isF64());
}

struct ExpandMathPass
    : public fagpu::impl::FAGPUExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet widening(&getContext());
    widening.add<WidenPattern<math::ExpOp>, WidenPattern<math::Exp2Op>,
                 WidenPattern<math::LogOp>, WidenPattern<math::Log2Op>,
                 WidenPattern<math::TanhOp>, WidenPattern<math::ErfOp>,
                 WidenPattern<math::SinOp>, WidenPattern<math::CosOp>,
                 WidenPattern<math::PowFOp>, WidenPattern<math::SqrtOp>,
                 WidenPattern<math::RsqrtOp>>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(widening));
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandPattern<math::ExpOp, expandExp>,
                 ExpandPattern<math::Exp2Op, expandExp2>,
                 ExpandPattern<math::LogOp, expandLog>,
                 ExpandPattern<math::Log2Op, expandLog2>,
                 ExpandPattern<math::TanhOp, expandTanh>,
                 ExpandPattern<math::ErfOp, expandErf>,
                 ExpandPattern<math::SinOp, expandSin>,
                 ExpandPattern<math::CosOp, expandCos>,
                 ExpandPattern<math::PowFOp, expandPower>>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (hasInstructions(op))
        return WalkResult::advance();
      op->emitOpError() << "on " << op->getResult(0).getType()
                        << " has no instructions on the device; expected "
                           "exp, exp2, log, log2, tanh, erf, sin, cos, powf, "
                           "sqrt or rsqrt on f32, f16 or bf16";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
