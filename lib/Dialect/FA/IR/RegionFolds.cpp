//===- RegionFolds.cpp - Simpler score and mask regions -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalisation of score and mask regions: regions that change nothing
// disappear, as do captures that are unused, given twice or constant. Most of
// the work is `simplifyCaptures`, which keeps operands and arguments in step.
//
//===----------------------------------------------------------------------===//

#include "Folds.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

/// Arguments of a region before its captures.
static constexpr unsigned numScoreArguments = 5, numMaskArguments = 4;

static Value getYielded(Region &region) {
  return region.front().getTerminator()->getOperand(0);
}

namespace {

/// A mask that is true everywhere disappears.
template <typename OpTy> struct DropTrueMask : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getMask().empty() ||
        !matchPattern(getYielded(op.getMask()), m_One()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getMaskCapturesMutable().clear();
      rewriter.eraseBlock(&op.getMask().front());
    });
    return success();
  }
};

/// A factor of weights that is 1 everywhere disappears.
template <typename OpTy> struct DropUnitFactor : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getScore().empty())
      return failure();
    Operation *yield = op.getScore().front().getTerminator();
    if (yield->getNumOperands() != 2 ||
        !matchPattern(yield->getOperand(1), m_OneFloat()))
      return failure();
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperand(1); });
    return success();
  }
};

/// A constant that a factor of weights is made from moves into the score of a
/// gradient, whose captures keep their numbers.
template <typename OpTy>
struct MoveConstantToDropout : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getScore().empty())
      return failure();
    bool changed = false;
    for (DropoutOp dropout : op.getScore().template getOps<DropoutOp>()) {
      auto argument = dyn_cast<BlockArgument>(dropout.getP());
      FloatAttr p;
      if (!argument ||
          !matchPattern(op.getScoreCaptures()[argument.getArgNumber() -
                                              numScoreArguments],
                        m_Constant(&p)))
        continue;
      rewriter.setInsertionPoint(dropout);
      Value constant = arith::ConstantOp::create(rewriter, op.getLoc(), p);
      rewriter.modifyOpInPlace(dropout,
                               [&] { dropout.getPMutable().assign(constant); });
      changed = true;
    }
    return success(changed);
  }
};

/// A score function that returns its score disappears.
template <typename OpTy>
struct DropIdentityScore : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getScore().empty() ||
        op.getScore().front().getTerminator()->getNumOperands() != 1 ||
        getYielded(op.getScore()) != op.getScore().getArgument(0))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getScoreCapturesMutable().clear();
      rewriter.eraseBlock(&op.getScore().front());
    });
    return success();
  }
};

} // namespace

/// Whether the uses of capture `position`, `argument` of the region, could be
/// given another value.
static bool replaceCapture(PatternRewriter &rewriter, BlockArgument argument,
                           unsigned position, MutableOperandRange captures) {
  Block *body = argument.getOwner();
  Value captured = captures[position].get();
  for (unsigned earlier = 0; earlier < position; ++earlier) {
    if (captures[earlier].get() != captured)
      continue;
    unsigned distance = position - earlier;
    rewriter.replaceAllUsesWith(
        argument, body->getArgument(argument.getArgNumber() - distance));
    return true;
  }
  Attribute constant;
  if (isa<ShapedType>(captured.getType()) ||
      !matchPattern(captured, m_Constant(&constant)))
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(body);
  Operation *copy = captured.getDefiningOp()->getDialect()->materializeConstant(
      rewriter, constant, captured.getType(), captured.getLoc());
  if (!copy)
    return false;
  rewriter.replaceAllUsesWith(argument, copy->getResult(0));
  return true;
}

/// Captures that a region does not need disappear: unused ones, ones that are
/// given twice, and constant scalars, which move into the region.
static bool simplifyCaptures(PatternRewriter &rewriter, Operation *op,
                             Region &region, unsigned numFixed,
                             MutableOperandRange captures) {
  if (region.empty())
    return false;
  bool changed = false;
  for (unsigned position = captures.size(); position-- > 0;) {
    BlockArgument argument = region.getArgument(numFixed + position);
    if (!argument.use_empty() &&
        !replaceCapture(rewriter, argument, position, captures))
      continue;
    rewriter.modifyOpInPlace(op, [&] {
      captures.erase(position);
      region.front().eraseArgument(numFixed + position);
    });
    changed = true;
  }
  return changed;
}

namespace {

template <typename OpTy>
struct SimplifyCaptures : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool changed =
        simplifyCaptures(rewriter, op, op.getScore(), numScoreArguments,
                         op.getScoreCapturesMutable());
    // The operands have moved where the score lost captures.
    changed |= simplifyCaptures(rewriter, op, op.getMask(), numMaskArguments,
                                op.getMaskCapturesMutable());
    return success(changed);
  }
};

struct SimplifyCapturesOfApply : public OpRewritePattern<ApplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ApplyOp op,
                                PatternRewriter &rewriter) const override {
    return success(simplifyCaptures(rewriter, op, op.getBody(),
                                    op.getInputs().size() + numMaskArguments,
                                    op.getCapturesMutable()));
  }
};

/// An apply that returns its inputs disappears.
struct DropIdentityApply : public OpRewritePattern<ApplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ApplyOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value value : op.getBody().front().getTerminator()->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || argument.getArgNumber() >= op.getInputs().size())
        return failure();
      inputs.push_back(op.getInputs()[argument.getArgNumber()]);
    }
    rewriter.replaceOp(op, inputs);
    return success();
  }
};

} // namespace

void ApplyOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SimplifyCapturesOfApply, DropIdentityApply>(context);
}

namespace {
/// The regions of a score and of its gradient share their captures, which
/// gradients name by number: those of the mask are simplified.
template <typename OpTy>
struct SimplifyMaskCaptures : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    return success(simplifyCaptures(rewriter, op, op.getMask(),
                                    numMaskArguments,
                                    op.getMaskCapturesMutable()));
  }
};
} // namespace

/// Erases what a region adds to gradients of captures that are not `asked` for.
/// Returns whether there was any.
static bool dropScatters(RewriterBase &rewriter, Region &region,
                         ArrayRef<int64_t> asked) {
  bool hasChanged = false;
  if (region.empty())
    return hasChanged;
  for (auto scatter :
       llvm::make_early_inc_range(region.front().getOps<ScatterGradientOp>())) {
    if (llvm::is_contained(asked, scatter.getCaptureNumber()))
      continue;
    rewriter.eraseOp(scatter);
    hasChanged = true;
  }
  return hasChanged;
}

namespace {
/// What is added to the gradient of a capture that has none among the
/// destinations disappears, with what only computes that.
template <typename OpTy> struct DropScatters : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool hasChanged =
        dropScatters(rewriter, op.getScoreGradient(), op.getDifferentiated());
    if constexpr (std::is_same_v<OpTy, AttentionGradientOp>)
      hasChanged |= dropScatters(rewriter, op.getSinkGradient(),
                                 op.getDifferentiatedSink());
    return success(hasChanged);
  }
};
} // namespace

void mlir::fa::populateRegionFolds(RewritePatternSet &patterns) {
  patterns.add<DropScatters<AttentionGradientOp>, DropScatters<GradientKeysOp>,
               DropScatters<GradientQueriesOp>>(patterns.getContext());
  patterns
      .add<DropTrueMask<AttentionGradientOp>, DropTrueMask<GradientKeysOp>,
           DropTrueMask<GradientQueriesOp>, DropUnitFactor<AttentionGradientOp>,
           DropUnitFactor<GradientKeysOp>, DropUnitFactor<GradientQueriesOp>,
           DropUnitFactor<AttentionOp>, DropUnitFactor<OnlineAttentionOp>,
           MoveConstantToDropout<AttentionGradientOp>,
           SimplifyMaskCaptures<AttentionGradientOp>,
           SimplifyMaskCaptures<GradientKeysOp>,
           SimplifyMaskCaptures<GradientQueriesOp>>(patterns.getContext());
  patterns
      .add<DropTrueMask<AttentionOp>, DropTrueMask<OnlineAttentionOp>,
           DropIdentityScore<AttentionOp>, DropIdentityScore<OnlineAttentionOp>,
           SimplifyCaptures<AttentionOp>, SimplifyCaptures<OnlineAttentionOp>>(
          patterns.getContext());
}
