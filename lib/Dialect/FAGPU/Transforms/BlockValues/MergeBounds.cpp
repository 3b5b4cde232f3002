//===- MergeBounds.cpp - One comparison for several bounds of an index ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces (i < a) and (i < b) by i < min(a, b), and likewise for the other
// orders and for `or`: min and max are of scalars or rows, a comparison is of
// every element. Read `MergeBounds`, then `chooseBound`.
//
//===----------------------------------------------------------------------===//

#include "RewriteGreedily.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUMERGEBOUNDSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// A comparison by order of an index of the block, on the left.
static arith::CmpIOp getBound(Value value) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getDefiningOp<IotaOp>() ||
      compare.getPredicate() == arith::CmpIPredicate::eq ||
      compare.getPredicate() == arith::CmpIPredicate::ne)
    return {};
  return compare;
}

static bool areMergeable(arith::CmpIOp a, arith::CmpIOp b) {
  if (!a || !b || a.getPredicate() != b.getPredicate())
    return false;
  auto left = a.getLhs().getDefiningOp<IotaOp>(),
       right = b.getLhs().getDefiningOp<IotaOp>();
  return left.getType() == right.getType() && left.getDim() == right.getDim() &&
         left.getPart() == right.getPart();
}

/// The operation that takes the lesser or the greater of two bounds, so that
/// both comparisons, or one of them, hold where that with the result does.
static StringRef chooseBound(arith::CmpIPredicate predicate, bool both) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
    return both ? arith::MinSIOp::getOperationName()
                : arith::MaxSIOp::getOperationName();
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    return both ? arith::MaxSIOp::getOperationName()
                : arith::MinSIOp::getOperationName();
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::ule:
    return both ? arith::MinUIOp::getOperationName()
                : arith::MaxUIOp::getOperationName();
  default:
    return both ? arith::MaxUIOp::getOperationName()
                : arith::MinUIOp::getOperationName();
  }
}

/// Joins two values of one type where they are smallest: as scalars, as
/// vectors, else as they are.
static Value join(RewriterBase &rewriter, Location loc, StringRef name, Value a,
                  Value b) {
  auto create = [&](Value left, Value right) -> Value {
    OperationState state(loc, name, {left, right}, {left.getType()});
    return rewriter.create(state)->getResult(0);
  };
  auto splatA = a.getDefiningOp<tensor::SplatOp>(),
       splatB = b.getDefiningOp<tensor::SplatOp>();
  if (splatA && splatB)
    return tensor::SplatOp::create(rewriter, loc, a.getType(),
                                   create(splatA.getInput(), splatB.getInput()),
                                   ValueRange());
  auto spreadA = a.getDefiningOp<BroadcastOp>(),
       spreadB = b.getDefiningOp<BroadcastOp>();
  BroadcastOp spread = spreadA ? spreadA : spreadB;
  if (!spread)
    return create(a, b);
  Type vector = spread.getSource().getType();
  auto narrow = [&](BroadcastOp wide, tensor::SplatOp splat) -> Value {
    if (wide && wide.getSource().getType() == vector)
      return wide.getSource();
    if (splat)
      return tensor::SplatOp::create(rewriter, loc, vector, splat.getInput(),
                                     ValueRange());
    return {};
  };
  Value narrowA = narrow(spreadA, splatA), narrowB = narrow(spreadB, splatB);
  if (!narrowA || !narrowB)
    return create(a, b);
  return BroadcastOp::create(rewriter, loc, a.getType(),
                             create(narrowA, narrowB));
}

namespace {

/// (i < a) op (i < b) -> i < min or max of a and b, also where one of the two
/// stands in a chain of the same operation.
template <typename LogicOp>
struct MergeBounds : public OpRewritePattern<LogicOp> {
  using OpRewritePattern<LogicOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(LogicOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [one, other] : {std::pair(op.getLhs(), op.getRhs()),
                              std::pair(op.getRhs(), op.getLhs())}) {
      arith::CmpIOp bound = getBound(one);
      if (!bound)
        continue;
      if (Value merged = merge(bound, other, rewriter)) {
        rewriter.replaceOp(op, merged);
        return success();
      }
      auto chain = other.template getDefiningOp<LogicOp>();
      if (!chain)
        continue;
      for (auto [first, second] : {std::pair(chain.getLhs(), chain.getRhs()),
                                   std::pair(chain.getRhs(), chain.getLhs())})
        if (Value merged = merge(bound, first, rewriter)) {
          rewriter.replaceOpWithNewOp<LogicOp>(op, merged, second);
          return success();
        }
    }
    return rewriter.notifyMatchFailure(op, "no two bounds of one index");
  }

  static Value merge(arith::CmpIOp bound, Value other,
                     PatternRewriter &rewriter) {
    arith::CmpIOp second = getBound(other);
    if (!areMergeable(bound, second))
      return {};
    constexpr bool both = std::is_same_v<LogicOp, arith::AndIOp>;
    Value limit =
        join(rewriter, bound.getLoc(), chooseBound(bound.getPredicate(), both),
             bound.getRhs(), second.getRhs());
    return arith::CmpIOp::create(rewriter, bound.getLoc(), bound.getPredicate(),
                                 bound.getLhs(), limit);
  }
};

/// Compares the columns of the block where a bound of theirs is repeated for
/// all rows, so that it can be merged with one that has rows.
struct SpreadBound : public OpRewritePattern<BroadcastOp> {
  using OpRewritePattern<BroadcastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    arith::CmpIOp bound = getBound(op.getSource());
    auto limit = bound ? bound.getRhs().getDefiningOp<tensor::SplatOp>()
                       : tensor::SplatOp();
    if (!limit)
      return rewriter.notifyMatchFailure(op, "no bound of all columns");
    auto iota = bound.getLhs().getDefiningOp<IotaOp>();
    auto vector = cast<RankedTensorType>(iota.getType());
    if (!isa_and_present<ColumnLayoutAttr>(vector.getEncoding()))
      return rewriter.notifyMatchFailure(op, "a bound of rows");
    auto type =
        cast<RankedTensorType>(op.getType()).clone(vector.getElementType());
    Location loc = op.getLoc();
    Value column = IotaOp::create(rewriter, loc, type, 1, iota.getPart());
    Value all = tensor::SplatOp::create(rewriter, loc, type, limit.getInput(),
                                        ValueRange());
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, bound.getPredicate(), column,
                                               all);
    return success();
  }
};

struct MergeBoundsPass
    : public fagpu::impl::FAGPUMergeBoundsPassBase<MergeBoundsPass> {
  void runOnOperation() override {
    if (failed(fagpu::rewriteGreedily<MergeBounds<arith::AndIOp>,
                                      MergeBounds<arith::OrIOp>, SpreadBound>(
            getOperation())))
      signalPassFailure();
  }
};

} // namespace
