//===- VersionLengths.cpp - A version of attention for each length -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
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

/// Builds the versions of one attention.
class LengthVersioner {
public:
  LengthVersioner(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()) {}

  /// The results of the attention by `config` or one of its longer ones.
  SmallVector<Value> build(ConfigAttr config);

private:
  Value getKeys();
  void buildBranch(Region &region, ConfigAttr config);

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  Value keys;
};

} // namespace

Value LengthVersioner::getKeys() {
  if (keys)
    return keys;
  int64_t dim = op.getKeyOrder().positionOf(DimKind::Sequence);
  if (isa<MemRefType>(op.getKey().getType()))
    return keys = memref::DimOp::create(rewriter, loc, op.getKey(), dim);
  return keys = tensor::DimOp::create(rewriter, loc, op.getKey(), dim);
}

void LengthVersioner::buildBranch(Region &region, ConfigAttr config) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&region);
  SmallVector<Value> results = build(config);
  scf::YieldOp::create(rewriter, loc, results);
}

SmallVector<Value> LengthVersioner::build(ConfigAttr config) {
  ConfigAttr longer = config.getLonger();
  if (!longer) {
    auto version = cast<AttentionOp>(rewriter.clone(*op));
    version.setConfigAttr(config.forAnyKeys());
    return llvm::to_vector_of<Value>(version->getResults());
  }
  Value least =
      arith::ConstantIndexOp::create(rewriter, loc, longer.getFromKeys());
  Value isLonger = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::uge, getKeys(), least);
  auto branch = scf::IfOp::create(rewriter, loc, op->getResultTypes(), isLonger,
                                  /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  buildBranch(branch.getThenRegion(), longer);
  buildBranch(branch.getElseRegion(), config.forAnyKeys());
  return llvm::to_vector_of<Value>(branch.getResults());
}

void mlir::fa::versionLengths(RewriterBase &rewriter, AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config || !config.getLonger())
    return;
  int64_t keys =
      cast<ShapedType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
  if (!ShapedType::isDynamic(keys)) {
    rewriter.modifyOpInPlace(
        op, [&] { op.setConfigAttr(config.getForKeys(keys)); });
    return;
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(op, LengthVersioner(rewriter, op).build(config));
}

LogicalResult mlir::fa::verifyForAnyKeys(AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config || !config.getLonger())
    return success();
  return op.emitOpError() << "config has a longer one from "
                          << config.getLonger().getFromKeys()
                          << " keys on, expected one for all lengths: choose "
                             "by the keys first, with fa-version-lengths";
}

namespace {
struct VersionLengthsPass
    : public mlir::fa::impl::FAVersionLengthsBase<VersionLengthsPass> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) { attentions.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      versionLengths(rewriter, op);
  }
};
} // namespace
