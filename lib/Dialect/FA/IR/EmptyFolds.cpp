//===- EmptyFolds.cpp - Attention over nothing ----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalisation of attention over nothing: no queries, no keys, an empty key
// range, a partial result without keys; and of gradients over no pairs. Each
// pattern is one such case and replaces it by what the softmax over an empty
// set is defined to give. The end of the file says which operation has which
// patterns.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/EmptyFolds.h"
#include "AttentionVerifiers.h"
#include "Folds.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult mlir::fa::fillGradientWithoutPairs(RewriterBase &rewriter,
                                                 AttentionGradientOp op) {
  auto isEmpty = [&](DimKind kind) {
    return sizeOf(op.getQuery(), op.getQueryOrder(), kind) == 0;
  };
  bool hasNoPairs = isEmpty(DimKind::Batch) || isEmpty(DimKind::Heads) ||
                    isEmpty(DimKind::Sequence);
  // A sink is a key that is always there.
  if (op.getSinkCaptureGradients().empty())
    hasNoPairs |= sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Sequence) == 0;
  if (!hasNoPairs || op.getQueryStarts())
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto destinations = cast<DestinationStyleOpInterface>(*op).getDpsInits();
  SmallVector<Value> results;
  for (Value destination : destinations) {
    Value zero = arith::ConstantOp::create(
        rewriter, op.getLoc(),
        rewriter.getZeroAttr(getElementTypeOrSelf(destination.getType())));
    auto filled =
        linalg::FillOp::create(rewriter, op.getLoc(), zero, destination);
    llvm::append_range(results, filled.getResults());
  }
  rewriter.replaceOp(op, results);
  return success();
}

/// Removes an operation that leaves its destinations as they are.
static void dropUnchanging(DestinationStyleOpInterface op,
                           PatternRewriter &rewriter) {
  if (op->getNumResults() == 0)
    rewriter.eraseOp(op);
  else
    rewriter.replaceOp(op, op.getDpsInits());
}

namespace {

/// Without batches, heads or queries nothing is written.
struct DropAttentionWithoutRows : public OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    auto isEmpty = [&](DimKind kind) {
      return sizeOf(op.getQuery(), op.getQueryOrder(), kind) == 0;
    };
    bool hasNoRows = isEmpty(DimKind::Batch) || isEmpty(DimKind::Heads) ||
                     isEmpty(DimKind::Sequence);
    if (!hasNoRows)
      return failure();
    dropUnchanging(cast<DestinationStyleOpInterface>(op.getOperation()),
                   rewriter);
    return success();
  }
};

/// Without keys every row is 0 and its lse -inf, up to the query length.
struct FillAttentionWithoutKeys : public OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Sequence) != 0 ||
        op.getQueryLengths() || op.isRagged() || !op.getSink().empty())
      return failure();
    Location loc = op.getLoc();
    SmallVector<Value> results;
    auto fill = [&](Value destination, bool isLse) {
      auto type = cast<FloatType>(
          cast<ShapedType>(destination.getType()).getElementType());
      const llvm::fltSemantics &semantics = type.getFloatSemantics();
      APFloat number = isLse ? APFloat::getInf(semantics, /*Negative=*/true)
                             : APFloat::getZero(semantics);
      Value constant =
          arith::ConstantFloatOp::create(rewriter, loc, type, number);
      auto filled =
          linalg::FillOp::create(rewriter, loc, constant, destination);
      llvm::append_range(results, filled.getResults());
    };
    fill(op.getOutput(), /*isLse=*/false);
    if (op.getLse())
      fill(op.getLse(), /*isLse=*/true);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Nothing depends on what is not there: gradients are 0.
struct FillGradientWithoutPairs : public OpRewritePattern<AttentionGradientOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionGradientOp op,
                                PatternRewriter &rewriter) const override {
    return fillGradientWithoutPairs(rewriter, op);
  }
};

/// A step over no keys, or for no queries, changes nothing.
struct DropEmptyStep : public OpRewritePattern<OnlineAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(OnlineAttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Sequence) != 0 &&
        sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Sequence) != 0)
      return failure();
    dropUnchanging(cast<DestinationStyleOpInterface>(op.getOperation()),
                   rewriter);
    return success();
  }
};

/// Ranges that hold nothing disappear, and with the last one the operation.
template <typename OpTy>
struct DropEmptyRanges : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumRanges() == 0) {
      rewriter.replaceOp(op, op.getInits());
      return success();
    }
    SmallVector<Value> begins, ends;
    SmallVector<bool> full;
    for (unsigned i = 0; i < op.getNumRanges(); ++i) {
      if (isEmpty(op.getBegins()[i], op.getEnds()[i]))
        continue;
      begins.push_back(op.getBegins()[i]);
      ends.push_back(op.getEnds()[i]);
      full.push_back(op.getFull()[i]);
    }
    if (full.size() == op.getNumRanges())
      return failure();
    auto smaller = OpTy::create(rewriter, op.getLoc(), begins, ends, full,
                                op.getStep(), op.getInits(), /*body=*/nullptr);
    smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.eraseBlock(&smaller.getBodyRegion().front());
    rewriter.inlineRegionBefore(op.getBodyRegion(), smaller.getBodyRegion(),
                                smaller.getBodyRegion().end());
    rewriter.replaceOp(op, smaller.getResults());
    return success();
  }

private:
  static bool isEmpty(Value begin, Value end) {
    APInt first, last;
    return begin == end ||
           (matchPattern(begin, m_ConstantInt(&first)) &&
            matchPattern(end, m_ConstantInt(&last)) && last.sle(first));
  }
};

/// A partial result without keys leaves the other one.
struct DropEmptySide : public OpRewritePattern<CombineOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CombineOp op,
                                PatternRewriter &rewriter) const override {
    // Rows past a query length show what the destination held.
    if (op->getNumResults() == 0 || op.getQueryLengths())
      return failure();
    SmallVector<Value> remaining;
    if (isEmptyLse(op.getLseA()))
      remaining = {op.getOutputB(), op.getLseB()};
    else if (isEmptyLse(op.getLseB()))
      remaining = {op.getOutputA(), op.getLseA()};
    else
      return failure();
    remaining.resize(op->getNumResults());
    // A result of another element type would need a conversion.
    if (TypeRange(ValueRange(remaining)) != op.getResultTypes())
      return failure();
    rewriter.replaceOp(op, remaining);
    return success();
  }

private:
  static bool isEmptyLse(Value lse) {
    auto fill = lse.getDefiningOp<linalg::FillOp>();
    return fill && matchPattern(fill.value(), m_NegInfFloat());
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  // One set serves all of them: patterns are rooted at each.
  populateRegionFolds(patterns);
  populateMaskFolds(patterns);
  populateOperandFolds(patterns);
  patterns.add<DropAttentionWithoutRows, FillAttentionWithoutKeys>(context);
}

void mlir::fa::populateEmptyGradientFolds(RewritePatternSet &patterns) {
  patterns.add<FillGradientWithoutPairs>(patterns.getContext());
}

void OnlineAttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  patterns.add<DropEmptyStep>(context);
}

void KeyRangesOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropEmptyRanges<KeyRangesOp>>(context);
}

void QueryRangesOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<DropEmptyRanges<QueryRangesOp>>(context);
}

void CombineOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<DropEmptySide>(context);
}
