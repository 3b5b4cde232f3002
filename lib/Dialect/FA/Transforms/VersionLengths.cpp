//===- VersionLengths.cpp - A version of attention for each length -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A configuration may name others for longer sequences. Where the lengths are
// dynamic, this makes one version of attention, or of its gradient, for each,
// in branches on the lengths. Read `LengthVersioner::build`, then `isLonger`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVERSIONLENGTHS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Builds the versions of one attention, or of one gradient.
template <typename OpTy> class LengthVersioner {
public:
  LengthVersioner(RewriterBase &rewriter, OpTy op)
      : rewriter(rewriter), op(op), loc(op.getLoc()) {}

  /// What of `config` and its longer ones the known lengths leave.
  ConfigAttr getPossible(ConfigAttr config);
  /// The results of the attention by `config` or one of its longer ones.
  SmallVector<Value> build(ConfigAttr config);

private:
  Value getLength(Value operand, int64_t dim);
  Value isAtLeast(Value operand, DimsAttr order, int64_t length);
  Value isLonger(ConfigAttr config);
  void buildBranch(Region &region, ConfigAttr config);

  RewriterBase &rewriter;
  OpTy op;
  Location loc;
  /// Sizes of sequences, by operand and dimension.
  DenseMap<std::pair<Value, int64_t>, Value> lengths;
};

} // namespace

/// The number of rows of an operand, where it is known.
static int64_t getKnownLength(Value operand, DimsAttr order) {
  return cast<ShapedType>(operand.getType())
      .getDimSize(order.positionOf(DimKind::Sequence));
}

template <typename OpTy>
ConfigAttr LengthVersioner<OpTy>::getPossible(ConfigAttr config) {
  return config.getForLengths(getKnownLength(op.getQuery(), op.getQueryOrder()),
                              getKnownLength(op.getKey(), op.getKeyOrder()));
}

template <typename OpTy>
Value LengthVersioner<OpTy>::getLength(Value operand, int64_t dim) {
  Value &length = lengths[{operand, dim}];
  if (length)
    return length;
  if (isa<MemRefType>(operand.getType()))
    return length = memref::DimOp::create(rewriter, loc, operand, dim);
  return length = tensor::DimOp::create(rewriter, loc, operand, dim);
}

/// Whether an operand has so many rows; null where that is known to hold.
template <typename OpTy>
Value LengthVersioner<OpTy>::isAtLeast(Value operand, DimsAttr order,
                                       int64_t length) {
  if (length == 0 || !ShapedType::isDynamic(getKnownLength(operand, order)))
    return {};
  Value least = arith::ConstantIndexOp::create(rewriter, loc, length);
  Value found = getLength(operand, order.positionOf(DimKind::Sequence));
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, found,
                               least);
}

/// Whether the lengths of the call are those that `config`, which known ones
/// leave open, is for.
template <typename OpTy>
Value LengthVersioner<OpTy>::isLonger(ConfigAttr config) {
  Value enoughKeys =
      isAtLeast(op.getKey(), op.getKeyOrder(), config.getFromKeys());
  Value enoughQueries =
      isAtLeast(op.getQuery(), op.getQueryOrder(), config.getFromQueries());
  if (!enoughKeys || !enoughQueries)
    return enoughKeys ? enoughKeys : enoughQueries;
  return arith::AndIOp::create(rewriter, loc, enoughKeys, enoughQueries);
}

template <typename OpTy>
void LengthVersioner<OpTy>::buildBranch(Region &region, ConfigAttr config) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&region);
  SmallVector<Value> results = build(config);
  scf::YieldOp::create(rewriter, loc, results);
}

template <typename OpTy>
SmallVector<Value> LengthVersioner<OpTy>::build(ConfigAttr config) {
  ConfigAttr longer = config.getLonger();
  if (!longer) {
    auto version = cast<OpTy>(rewriter.clone(*op));
    version.setConfigAttr(config.forAnyLengths());
    // One pass has no other configuration for its blocks of keys.
    if (config.getGradientForm() == GradientForm::one_pass)
      version->removeAttr(gradientKeysAttrName);
    return llvm::to_vector_of<Value>(version->getResults());
  }
  auto branch = scf::IfOp::create(rewriter, loc, op->getResultTypes(),
                                  isLonger(longer), /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  buildBranch(branch.getThenRegion(), getPossible(longer));
  buildBranch(branch.getElseRegion(), config.forAnyLengths());
  return llvm::to_vector_of<Value>(branch.getResults());
}

template <typename OpTy>
static void versionByLengths(RewriterBase &rewriter, OpTy op) {
  if (!op.getConfigAttr() || !op.getConfigAttr().getLonger())
    return;
  LengthVersioner<OpTy> versioner(rewriter, op);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(
      op, versioner.build(versioner.getPossible(op.getConfigAttr())));
}

void mlir::fa::versionLengths(RewriterBase &rewriter, AttentionOp op) {
  versionByLengths(rewriter, op);
}

void mlir::fa::versionLengths(RewriterBase &rewriter, AttentionGradientOp op) {
  versionByLengths(rewriter, op);
}

template <typename OpTy> static LogicalResult verifyIsForAnyKeys(OpTy op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config || !config.getLonger())
    return success();
  return op.emitOpError() << "config has a longer one from "
                          << config.getLonger().getFromKeys()
                          << " keys on, expected one for all lengths: choose "
                             "by the keys first, with fa-version-lengths";
}

LogicalResult mlir::fa::verifyForAnyKeys(AttentionOp op) {
  return verifyIsForAnyKeys(op);
}

LogicalResult mlir::fa::verifyForAnyKeys(AttentionGradientOp op) {
  return verifyIsForAnyKeys(op);
}

namespace {
struct VersionLengthsPass
    : public mlir::fa::impl::FAVersionLengthsBase<VersionLengthsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionGradientOp>(op))
        all.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : all)
      if (auto attention = dyn_cast<AttentionOp>(op))
        versionLengths(rewriter, attention);
      else
        versionLengths(rewriter, cast<AttentionGradientOp>(op));
  }
};
} // namespace
