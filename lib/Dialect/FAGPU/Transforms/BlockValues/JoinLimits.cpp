//===- JoinLimits.cpp - Both limits of a column at once -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUJOINLIMITSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// The words of bits that a thread holds at a time; more spill where products
/// are synchronous.
static constexpr int64_t mostWords = 2;

static int64_t countWords(RankedTensorType limits, RankedTensorType block) {
  int64_t rows = registersPerThread(limits);
  return rows * llvm::divideCeil(registersPerThread(block) / rows, 32);
}

static bool isColumn(Value value) {
  auto iota = value.getDefiningOp<IotaOp>();
  return iota && iota.getDim() == 1 && iota.getPart() == IndexPart::all &&
         isa_and_nonnull<AccumulatorLayoutAttr>(iota.getType().getEncoding());
}

/// What a number of each row is repeated from; null where it is none.
static Value getOfRow(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return Value();
  Value source = broadcast.getSource();
  auto type = cast<RankedTensorType>(source.getType());
  return isa_and_nonnull<RowLayoutAttr>(type.getEncoding()) ? source : Value();
}

/// The number of each row that `value` compares columns with by `predicate`, or
/// that it compares with columns by `turned`; null where it is no such
/// comparison.
static Value getLimit(Value value, arith::CmpIPredicate predicate,
                      arith::CmpIPredicate turned) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return Value();
  if (compare.getPredicate() == predicate && isColumn(compare.getLhs()))
    return getOfRow(compare.getRhs());
  if (compare.getPredicate() == turned && isColumn(compare.getRhs()))
    return getOfRow(compare.getLhs());
  return Value();
}

namespace {

struct JoinComparisons : public OpRewritePattern<arith::AndIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AndIOp op,
                                PatternRewriter &rewriter) const override {
    using Predicate = arith::CmpIPredicate;
    for (auto [low, high] : {std::pair(op.getLhs(), op.getRhs()),
                             std::pair(op.getRhs(), op.getLhs())}) {
      Value first = getLimit(low, Predicate::sge, Predicate::sle);
      Value end = getLimit(high, Predicate::slt, Predicate::sgt);
      if (!first || !end ||
          countWords(cast<RankedTensorType>(first.getType()),
                     cast<RankedTensorType>(op.getType())) > mostWords)
        continue;
      rewriter.replaceOpWithNewOp<BetweenOp>(op, op.getType(), first, end);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no two limits of a column");
  }
};

struct JoinLimitsPass
    : public fagpu::impl::FAGPUJoinLimitsPassBase<JoinLimitsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinComparisons>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
