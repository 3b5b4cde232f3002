//===- LowerToFA.cpp - This compiler's attention to fa.attention ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Standalone/Standalone.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace standalone {
#define GEN_PASS_DEF_LOWERTOFA
#include "Standalone/Passes.h.inc"
} // namespace standalone

using namespace mlir;
using namespace standalone;

namespace {

/// The `part`-th of three (batch, positions, heads, head dim) tensors that lie
/// side by side in dimension 2 of `all`.
Value extractPart(OpBuilder &builder, Location loc, Value all, int64_t part) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, all);
  SmallVector<OpFoldResult> offsets(5, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(5, builder.getIndexAttr(1));
  offsets[2] = builder.getIndexAttr(part);
  sizes[2] = builder.getIndexAttr(1);
  auto type = cast<RankedTensorType>(all.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + 2);
  return tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), all,
      offsets, sizes, strides);
}

/// Fills the mask region of `attention` with a causal mask.
void addCausalMask(OpBuilder &builder, mlir::fa::AttentionOp attention) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = attention.getLoc();
  Type index = builder.getIndexType();
  Block *block =
      builder.createBlock(&attention.getMask(), {},
                          {index, index, index, index}, {loc, loc, loc, loc});
  mlir::fa::PairIndices pair = {block->getArgument(0), block->getArgument(1),
                                block->getArgument(2), block->getArgument(3)};
  Value visible = mlir::fa::buildCausalMask(
      builder, loc, pair, mlir::fa::CausalAlignment::BottomRight);
  mlir::fa::YieldOp::create(builder, loc, visible);
}

/// Fills the score region of `attention` with a soft cap.
void addSoftcap(OpBuilder &builder, mlir::fa::AttentionOp attention,
                FloatAttr cap) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = attention.getLoc();
  Type index = builder.getIndexType();
  Block *block =
      builder.createBlock(&attention.getScore(), {},
                          {builder.getF32Type(), index, index, index, index},
                          {loc, loc, loc, loc, loc});
  Value limit = arith::ConstantOp::create(builder, loc, cap);
  Value score =
      mlir::fa::buildSoftcapScore(builder, loc, block->getArgument(0), limit);
  mlir::fa::YieldOp::create(builder, loc, score);
}

/// Attention of (batch, positions, heads, head dim) tensors, over all keys.
mlir::fa::AttentionOp createAttention(OpBuilder &builder, Location loc,
                                      Value query, Value key, Value value) {
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, query),
      getElementTypeOrSelf(query));
  return mlir::fa::AttentionOp::create(
      builder, loc, init.getType(), query, key, value, /*scale=*/Value(),
      /*query_lengths=*/Value(), /*key_lengths=*/Value(),
      /*query_starts=*/Value(), /*key_starts=*/Value(), /*key_pages=*/Value(),
      /*offsets=*/ValueRange(), /*extents=*/ValueRange(),
      /*score_captures=*/ValueRange(), /*mask_captures=*/ValueRange(),
      /*sink_captures=*/ValueRange(), init, /*lse=*/Value(),
      /*query_dims=*/nullptr, /*key_dims=*/nullptr,
      /*value_dims=*/nullptr, /*output_dims=*/nullptr, /*config=*/nullptr);
}

struct LowerSelfAttention : OpRewritePattern<SelfAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SelfAttentionOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType packed = op.getPacked().getType();
    Type element = packed.getElementType();
    int64_t batch = packed.getDimSize(0), positions = packed.getDimSize(1);
    int64_t heads = op.getHeads();
    int64_t headDim = packed.getDimSize(2) / (3 * heads);

    auto allType =
        RankedTensorType::get({batch, positions, 3, heads, headDim}, element);
    SmallVector<ReassociationIndices> split = {{0}, {1}, {2, 3, 4}};
    Value all = tensor::ExpandShapeOp::create(rewriter, loc, allType,
                                              op.getPacked(), split);
    Value query = extractPart(rewriter, loc, all, 0);
    Value key = extractPart(rewriter, loc, all, 1);
    Value value = extractPart(rewriter, loc, all, 2);
    mlir::fa::AttentionOp attention =
        createAttention(rewriter, loc, query, key, value);
    if (op.getCausal())
      addCausalMask(rewriter, attention);

    SmallVector<ReassociationIndices> join = {{0}, {1}, {2, 3}};
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op.getOutput().getType(), attention.getResult(0), join);
    return success();
  }
};

struct LowerCappedAttention : OpRewritePattern<CappedAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CappedAttentionOp op,
                                PatternRewriter &rewriter) const override {
    mlir::fa::AttentionOp attention = createAttention(
        rewriter, op.getLoc(), op.getQuery(), op.getKey(), op.getValue());
    addSoftcap(rewriter, attention, op.getCapAttr());
    addCausalMask(rewriter, attention);
    rewriter.replaceOp(op, attention.getResult(0));
    return success();
  }
};

struct LowerToFAPass : standalone::impl::LowerToFABase<LowerToFAPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerCappedAttention, LowerSelfAttention>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
