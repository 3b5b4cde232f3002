//===- SplitIota.cpp - Indices as thread part and element part ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUSPLITIOTAPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

static IotaOp getWholeIota(Value value) {
  auto iota = value.getDefiningOp<IotaOp>();
  return iota && iota.getPart() == IndexPart::all ? iota : IotaOp();
}

static Value getPart(PatternRewriter &rewriter, IotaOp iota, IndexPart part) {
  return IotaOp::create(rewriter, iota.getLoc(), iota.getType(), iota.getDim(),
                        part);
}

namespace {

/// (thread + element) < y  ->  element < y - thread
struct CompareIota : public OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::CmpIOp op,
                                PatternRewriter &rewriter) const override {
    arith::CmpIPredicate predicate = op.getPredicate();
    if (predicate == arith::CmpIPredicate::ult ||
        predicate == arith::CmpIPredicate::ule ||
        predicate == arith::CmpIPredicate::ugt ||
        predicate == arith::CmpIPredicate::uge)
      return rewriter.notifyMatchFailure(op, "a difference may be negative");
    IotaOp left = getWholeIota(op.getLhs()), right = getWholeIota(op.getRhs());
    if (!left == !right)
      return rewriter.notifyMatchFailure(op, "not one index");
    IotaOp iota = left ? left : right;
    Value other = left ? op.getRhs() : op.getLhs();
    Value element = getPart(rewriter, iota, IndexPart::element);
    Value difference =
        arith::SubIOp::create(rewriter, op.getLoc(), other,
                              getPart(rewriter, iota, IndexPart::thread));
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, predicate,
                                               left ? element : difference,
                                               left ? difference : element);
    return success();
  }
};

/// (thread + element) * a + b  ->  element * a + (thread * a + b)
struct ScaleIota : public OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [index, factor] :
         {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())}) {
      auto convert = index.getDefiningOp<arith::SIToFPOp>();
      IotaOp iota = convert ? getWholeIota(convert.getIn()) : IotaOp();
      if (!iota)
        continue;
      auto part = [&](IndexPart which) -> Value {
        return arith::SIToFPOp::create(rewriter, op.getLoc(), op.getType(),
                                       getPart(rewriter, iota, which));
      };
      Value ofThread =
          math::FmaOp::create(rewriter, op.getLoc(), part(IndexPart::thread),
                              factor, op.getC(), op.getFastmath());
      rewriter.replaceOpWithNewOp<math::FmaOp>(
          op, part(IndexPart::element), factor, ofThread, op.getFastmath());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no index is scaled");
  }
};

/// a + (thread + element)  ->  (a + thread) + element, and so for differences.
template <typename SumOp> struct AddIota : public OpRewritePattern<SumOp> {
  using OpRewritePattern<SumOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp op,
                                PatternRewriter &rewriter) const override {
    auto convert = op.getRhs().template getDefiningOp<arith::SIToFPOp>();
    IotaOp iota = convert ? getWholeIota(convert.getIn()) : IotaOp();
    if (!iota)
      return rewriter.notifyMatchFailure(op, "no index is added");
    auto part = [&](IndexPart which) -> Value {
      return arith::SIToFPOp::create(rewriter, op.getLoc(), op.getType(),
                                     getPart(rewriter, iota, which));
    };
    Value ofThread = SumOp::create(rewriter, op.getLoc(), op.getLhs(),
                                   part(IndexPart::thread), op.getFastmath());
    rewriter.replaceOpWithNewOp<SumOp>(op, ofThread, part(IndexPart::element),
                                       op.getFastmath());
    return success();
  }
};

struct SplitIotaPass
    : public fagpu::impl::FAGPUSplitIotaPassBase<SplitIotaPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<CompareIota, ScaleIota, AddIota<arith::AddFOp>,
                 AddIota<arith::SubFOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
