//===- ExpandMath.cpp - Elementary functions without a library ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Math/ElementaryMath.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Conversion/Math/MathIdentities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUEXPANDMATHPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
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
    SmallVector<Value> operands(op->getOperands());
    for (Value &operand : operands)
      if (operand.getType() == type)
        operand = arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand);
    Value result = OpTy::create(rewriter, op.getLoc(), TypeRange(wide),
                                operands, op->getAttrs());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
    return success();
  }
};

/// What arithmetic expresses on f32, and so on f16 and bf16.
template <typename... OpTys> struct OpList {
  static bool contains(Operation *op) { return isa<OpTys...>(op); }
  static void addWidening(RewritePatternSet &patterns) {
    patterns.add<WidenPattern<OpTys>...>(patterns.getContext());
  }
};
using Expanded =
    OpList<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp, math::Log2Op,
           math::Log10Op, math::Log1pOp, math::SinhOp, math::CoshOp,
           math::TanhOp, math::AsinhOp, math::AcoshOp, math::AtanhOp,
           math::ErfOp, math::ErfcOp, math::SinOp, math::CosOp, math::TanOp,
           math::AsinOp, math::AcosOp, math::AtanOp, math::Atan2Op,
           math::CbrtOp, math::PowFOp, math::FPowIOp, arith::RemFOp>;
using Roots = OpList<math::SqrtOp, math::RsqrtOp>;

void populateExpansions(RewritePatternSet &patterns) {
  patterns.add<ExpandPattern<math::ExpOp, expandExp>,
               ExpandPattern<math::Exp2Op, expandExp2>,
               ExpandPattern<math::ExpM1Op, expandExpM1>,
               ExpandPattern<math::LogOp, expandLog>,
               ExpandPattern<math::Log2Op, expandLog2>,
               ExpandPattern<math::Log10Op, expandLog10>,
               ExpandPattern<math::Log1pOp, expandLog1p>,
               ExpandPattern<math::SinhOp, expandSinh>,
               ExpandPattern<math::CoshOp, expandCosh>,
               ExpandPattern<math::TanhOp, expandTanh>,
               ExpandPattern<math::AsinhOp, expandAsinh>,
               ExpandPattern<math::AcoshOp, expandAcosh>,
               ExpandPattern<math::AtanhOp, expandAtanh>,
               ExpandPattern<math::ErfOp, expandErf>,
               ExpandPattern<math::ErfcOp, expandErfc>>(patterns.getContext());
  patterns.add<ExpandPattern<math::SinOp, expandSin>,
               ExpandPattern<math::CosOp, expandCos>,
               ExpandPattern<math::TanOp, expandTan>,
               ExpandPattern<math::AsinOp, expandAsin>,
               ExpandPattern<math::AcosOp, expandAcos>,
               ExpandPattern<math::AtanOp, expandAtan>,
               ExpandPattern<math::Atan2Op, expandAtan2>,
               ExpandPattern<math::CbrtOp, expandCbrt>,
               ExpandPattern<math::PowFOp, expandPower>,
               ExpandPattern<math::FPowIOp, expandIntegerPower>,
               ExpandPattern<arith::RemFOp, expandRemainder>>(
      patterns.getContext());
}

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
  return Roots::contains(op) && (element.isF32() || element.isF64());
}
} // namespace

bool mlir::fagpu::isExpressedOnDevice(Operation *op) {
  if (hasInstructions(op) || isa<math::ClampFOp, math::IsNaNOp, math::IsInfOp,
                                 math::IsFiniteOp, math::IsNormalOp>(op))
    return true;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<math::IPowIOp>(op))
    return !element.isInteger(1);
  return (Expanded::contains(op) || Roots::contains(op) ||
          isa<math::SincosOp>(op)) &&
         (element.isF32() || element.isF16() || element.isBF16());
}

InFlightDiagnostic mlir::fagpu::emitNotOnDevice(Operation *op) {
  return op->emitOpError() << "on " << op->getResult(0).getType()
                           << " has no instructions on the device; expected "
                           << (isa<math::IPowIOp>(op) ? "i8, i16, i32 or i64"
                                                      : "f32, f16 or bf16");
}

namespace {
struct ExpandMathPass
    : public fagpu::impl::FAGPUExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet identities(&getContext()), widening(&getContext()),
        expansions(&getContext());
    fa::populateMathIdentityPatterns(identities);
    Expanded::addWidening(widening);
    Roots::addWidening(widening);
    populateExpansions(expansions);
    for (RewritePatternSet *patterns : {&identities, &widening, &expansions})
      walkAndApplyPatterns(getOperation(), std::move(*patterns));
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (hasInstructions(op))
        return WalkResult::advance();
      emitNotOnDevice(op);
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
