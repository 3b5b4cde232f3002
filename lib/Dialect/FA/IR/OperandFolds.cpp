//===- OperandFolds.cpp - Transposes and casts of operands ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalisation of what surrounds attention: a transpose of an operand or
// of the result becomes an order of dimensions, so that it costs no copy (but
// not where the head dim of a tensor would no longer be contiguous), and a cast
// that hides a static size is dropped. Read `AbsorbTransposedOperand`
// first.
//
//===----------------------------------------------------------------------===//

#include "Folds.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

// The order of what a transpose read, given the order of its result: dimension
// p of the result is dimension permutation[p] of the source.
static DimsAttr getSourceOrder(DimsAttr order, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> source(order.getOrder().size());
  for (auto [position, from] : llvm::enumerate(permutation))
    source[from] = order.getOrder()[position];
  return DimsAttr::get(order.getContext(), source);
}

// The order of a transpose's result, given the order of its source.
static DimsAttr getResultOrder(DimsAttr order, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result;
  for (int64_t from : permutation)
    result.push_back(order.getOrder()[from]);
  return DimsAttr::get(order.getContext(), result);
}

// The source and the permutation of a transpose that produces `value`.
static std::optional<std::pair<Value, SmallVector<int64_t>>>
getTranspose(Value value) {
  if (auto transpose = value.getDefiningOp<linalg::TransposeOp>())
    return std::make_pair(transpose.getInput(),
                          SmallVector<int64_t>(transpose.getPermutation()));
  auto transpose = value.getDefiningOp<memref::TransposeOp>();
  if (!transpose)
    return std::nullopt;
  SmallVector<int64_t> permutation;
  for (AffineExpr dim : transpose.getPermutation().getResults())
    permutation.push_back(cast<AffineDimExpr>(dim).getPosition());
  return std::make_pair(transpose.getIn(), permutation);
}

/// Whether the head dim of a tensor is contiguous in one order and would not be
/// in the other: to read it there is to copy it in any case.
static bool partsHeadDim(Value operand, DimsAttr from, DimsAttr to) {
  auto isLast = [](DimsAttr order) {
    return order.positionOf(DimKind::HeadDim) == order.getRank() - 1;
  };
  return isa<TensorType>(operand.getType()) && isLast(from) && !isLast(to);
}

// An operand with the attribute that names its order.
namespace {
struct OrderedOperand {
  OpOperand *operand;
  DimsAttr order;
  std::function<void(DimsAttr)> setOrder;
};
} // namespace

template <typename OpTy>
static SmallVector<OrderedOperand> getOrderedInputs(OpTy op) {
  return {{&op.getQueryMutable(), op.getQueryOrder(),
           [=](DimsAttr order) mutable { op.setQueryDimsAttr(order); }},
          {&op.getKeyMutable(), op.getKeyOrder(),
           [=](DimsAttr order) mutable { op.setKeyDimsAttr(order); }},
          {&op.getValueMutable(), op.getValueOrder(),
           [=](DimsAttr order) mutable { op.setValueDimsAttr(order); }}};
}

static SmallVector<OrderedOperand> getOrderedOperands(AttentionOp op) {
  SmallVector<OrderedOperand> operands = getOrderedInputs(op);
  // A tensor destination cannot change: it is the result, too.
  if (isa<MemRefType>(op.getOutput().getType()))
    operands.push_back(
        {&op.getOutputMutable(), op.getOutputOrder(),
         [=](DimsAttr order) mutable { op.setOutputDimsAttr(order); }});
  return operands;
}

static SmallVector<OrderedOperand> getOrderedOperands(OnlineAttentionOp op) {
  return getOrderedInputs(op);
}

template <typename OpTy>
static SmallVector<OrderedOperand> getOrderedGradientInputs(OpTy op) {
  SmallVector<OrderedOperand> operands = getOrderedInputs(op);
  operands.push_back(
      {&op.getOutputGradientMutable(), op.getOutputGradientOrder(),
       [=](DimsAttr order) mutable { op.setOutputGradientDimsAttr(order); }});
  return operands;
}

static SmallVector<OrderedOperand> getOrderedOperands(GradientKeysOp op) {
  return getOrderedGradientInputs(op);
}

static SmallVector<OrderedOperand> getOrderedOperands(GradientQueriesOp op) {
  return getOrderedGradientInputs(op);
}

static SmallVector<OrderedOperand> getOrderedOperands(AttentionGradientOp op) {
  SmallVector<OrderedOperand> operands = getOrderedGradientInputs(op);
  if (op.getOutput())
    operands.push_back(
        {&*op.getOutputMutable().begin(), op.getOutputOrder(),
         [=](DimsAttr order) mutable { op.setOutputDimsAttr(order); }});
  return operands;
}

namespace {

/// A transposed operand is read in its own order.
template <typename OpTy>
struct AbsorbTransposedOperand : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    for (OrderedOperand &input : getOrderedOperands(op)) {
      auto transpose = getTranspose(input.operand->get());
      if (!transpose)
        continue;
      auto [source, permutation] = *transpose;
      // The source of a transpose in memory may have another head dim stride.
      DimsAttr order = getSourceOrder(input.order, permutation);
      if (partsHeadDim(source, input.order, order))
        continue;
      rewriter.modifyOpInPlace(op, [&, source = source] {
        input.operand->set(source);
        input.setOrder(order);
      });
      return success();
    }
    return failure();
  }
};

/// An operand that was cast to a type that says less about its shape. Upstream
/// has a pattern for all destination-style operations, which clones the
/// operation and crashes where a region is empty: this one comes first.
template <typename OpTy> struct AbsorbCast : public OpRewritePattern<OpTy> {
  AbsorbCast(MLIRContext *context)
      : OpRewritePattern<OpTy>(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *cast = operand.get().getDefiningOp();
      if (!cast || !saysLess(cast))
        continue;
      Value source = cast->getOperand(0);
      rewriter.modifyOpInPlace(op, [&] {
        operand.set(source);
        for (BlockArgument argument : getArguments(op, operand))
          argument.setType(source.getType());
      });
      if (op.isDpsInit(&operand) && isa<RankedTensorType>(source.getType()))
        restoreResultType(op, operand, rewriter);
      return success();
    }
    return failure();
  }

private:
  static bool saysLess(Operation *producer) {
    if (auto cast = dyn_cast<tensor::CastOp>(producer))
      return tensor::canFoldIntoConsumerOp(cast);
    auto cast = dyn_cast<memref::CastOp>(producer);
    return cast && memref::CastOp::canFoldIntoConsumerOp(cast);
  }

  // The arguments of regions that stand for a capture.
  static SmallVector<BlockArgument> getArguments(OpTy op, OpOperand &operand) {
    SmallVector<BlockArgument> arguments;
    for (const PairRegion &pairs : op.getPairRegions())
      if (!pairs.captures.empty()) {
        unsigned first = pairs.captures.getBeginOperandIndex();
        unsigned number = operand.getOperandNumber();
        if (number >= first && number < first + pairs.captures.size())
          arguments.push_back(
              pairs.region->getArgument(pairs.getNumFixed() + number - first));
      }
    return arguments;
  }

  static void restoreResultType(OpTy op, OpOperand &operand,
                                PatternRewriter &rewriter) {
    OpResult result = op.getTiedOpResult(&operand);
    Type old = result.getType();
    rewriter.modifyOpInPlace(op,
                             [&] { result.setType(operand.get().getType()); });
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(op);
    auto restored = tensor::CastOp::create(rewriter, op.getLoc(), old, result);
    rewriter.replaceAllUsesExcept(result, restored, restored);
  }
};

/// The order that an absent attribute means is not written.
template <typename OpTy>
struct DropDefaultOrder : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    SmallVector<StringAttr> defaults;
    for (NamedAttribute attribute : op->getAttrs())
      if (auto order = dyn_cast<DimsAttr>(attribute.getValue());
          order && order.isDefault())
        defaults.push_back(attribute.getName());
    for (StringAttr name : defaults)
      rewriter.modifyOpInPlace(op, [&] { op->removeAttr(name); });
    return success(!defaults.empty());
  }
};

/// A result that is only transposed is written in the other order.
struct AbsorbTransposedResult : public OpRewritePattern<linalg::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::TransposeOp transpose,
                                PatternRewriter &rewriter) const override {
    auto result = dyn_cast<OpResult>(transpose.getInput());
    auto op = transpose.getInput().getDefiningOp<AttentionOp>();
    if (!op || result.getResultNumber() != 0 || !result.hasOneUse())
      return failure();
    // Rows past a query length or of no sequence show what the destination
    // held.
    if ((op.getQueryLengths() || op.getQueryStarts()) &&
        !op.getOutput().getDefiningOp<tensor::EmptyOp>())
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    if (partsHeadDim(result, op.getOutputOrder(),
                     getResultOrder(op.getOutputOrder(), permutation)))
      return failure();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, op.getLoc(), op.getOutput());
    SmallVector<OpFoldResult> permuted;
    for (int64_t from : permutation)
      permuted.push_back(sizes[from]);
    auto type = cast<RankedTensorType>(op.getOutput().getType());
    Value destination = tensor::EmptyOp::create(rewriter, op.getLoc(), permuted,
                                                type.getElementType());
    rewriter.modifyOpInPlace(op, [&] {
      op.setOutputDimsAttr(getResultOrder(op.getOutputOrder(), permutation));
      op.getOutputMutable().assign(destination);
      result.setType(cast<RankedTensorType>(destination.getType()));
    });
    rewriter.setInsertionPoint(transpose);
    Value replacement = result;
    Type expected = transpose->getResult(0).getType();
    if (replacement.getType() != expected)
      replacement = tensor::CastOp::create(rewriter, transpose.getLoc(),
                                           expected, replacement);
    rewriter.replaceOp(transpose, replacement);
    return success();
  }
};

} // namespace

template <typename... OpTy>
static void addOperandFolds(RewritePatternSet &patterns) {
  patterns.add<AbsorbTransposedOperand<OpTy>..., AbsorbCast<OpTy>...,
               DropDefaultOrder<OpTy>...>(patterns.getContext());
}

void mlir::fa::populateOperandFolds(RewritePatternSet &patterns) {
  addOperandFolds<AttentionOp, OnlineAttentionOp, AttentionGradientOp,
                  GradientKeysOp, GradientQueriesOp>(patterns);
  patterns.add<AbsorbTransposedResult>(patterns.getContext());
}
