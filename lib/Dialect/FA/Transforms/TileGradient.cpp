//===- TileGradient.cpp - Gradients block by block ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the gradient of attention parallel loops: one that prepares the numbers
// of each query row, then as the form of the configuration says, loops over
// blocks of keys and of queries, and one for each kind of captured tables. No
// two iterations of a loop add to the same element, so gradients are the same
// in each run; but on a GPU those of `one_pass`, and of captures where the
// configuration is not deterministic, which add in any order. Read
// `GradientTiler::tile` first. Packed sequences are cut apart on a CPU only.
//
//===----------------------------------------------------------------------===//

#include "CutGradient.h"
#include "GradientTiler.h"
#include "Sinks.h"
#include "fa/Dialect/FA/IR/EmptyFolds.h"
#include "fa/Dialect/FA/IR/SameHeads.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILEGRADIENT
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Nothing but the sink has a gradient where there are no keys.
void GradientTiler::fillWithoutKeys() {
  OperandRange ofSink = op.getSinkCaptureGradients();
  for (Value destination : cast<DestinationStyleOpInterface>(*op).getDpsInits())
    if (!llvm::is_contained(ofSink, destination)) {
      Value zero = arith::ConstantOp::create(
          rewriter, loc,
          rewriter.getZeroAttr(getElementTypeOrSelf(destination.getType())));
      linalg::FillOp::create(rewriter, loc, zero, destination);
    }
  for (Value memory : workspaces)
    memref::DeallocOp::create(rewriter, loc, memory);
  rewriter.eraseOp(op);
}

/// As loops go over blocks of queries, or of keys, on a GPU.
CaptureSums::BlockLoop GradientTiler::getBlockLoop(RowKind kind) {
  bool ofQueries = kind == RowKind::queries;
  int64_t block = ofQueries ? config.getQueryBlock() : keysConfig.getKeyBlock();
  CaptureSums::BlockLoop loop;
  loop.ofSlots = static_cast<bool>(ofQueries ? queryStarts : keyStarts);
  OpFoldResult blocks =
      loop.ofSlots
          ? getAsOpFoldResult(getSlots(kind, block).countSlots())
          // As a manifest has it.
          : getAsOpFoldResult(rewriter.createOrFold<arith::CeilDivUIOp>(
                loc, toValue(ofQueries ? queries : keys),
                toValue(rewriter.getIndexAttr(block))));
  loop.counts = {batches, ofQueries ? heads : keyHeads, blocks};
  // Each has 16 rows or more.
  loop.warps = block / 16;
  return loop;
}

/// A block of keys takes a step at least, for which there is a query head.
void GradientTiler::assertQueryHeads() {
  if (!hasWholeBlocks || getConstantIntValue(heads) ||
      op->hasAttr(sameHeadsAttrName))
    return;
  auto compare = [&](arith::CmpIPredicate by, OpFoldResult count) -> Value {
    return arith::CmpIOp::create(rewriter, loc, by, toValue(count),
                                 toValue(rewriter.getIndexAttr(0)));
  };
  Value isPossible = arith::OrIOp::create(
      rewriter, loc, compare(arith::CmpIPredicate::ne, heads),
      compare(arith::CmpIPredicate::eq, keyHeads));
  cf::AssertOp::create(rewriter, loc, isPossible,
                       "a gradient of key or value on a GPU has key heads and "
                       "0 query heads, expected a positive multiple of the key "
                       "heads");
}

void GradientTiler::tile() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] {
    takeViews();
    materializePlace(rewriter, op);
  });
  heads = size(op.getQuery(), op.getQueryOrder(), DimKind::Heads);
  queries = size(op.getQuery(), op.getQueryOrder(), DimKind::Sequence);
  keyHeads = size(op.getKey(), op.getKeyOrder(), DimKind::Heads);
  keys = size(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  GradientForm form = config.getGradientForm().value_or(GradientForm::two_pass);
  KeyGradients ofKeys{op.getKeyGradient(), op.getValueGradient(), Value(), {}};
  bool hasKeys = ofKeys.key || ofKeys.value;
  if (hasKeys)
    assertQueryHeads();
  bool isOnePass = form == GradientForm::one_pass && hasKeys;
  bool addsInParallel = isOnePass && hasWholeBlocks && op.getQueryGradient();
  if (isListed())
    listBlocks();
  prepare(addsInParallel);
  addSinkGradients(rewriter, op, delta, reference);
  if (isConstantIntValue(keys, 0))
    return fillWithoutKeys();
  if (isOnePass)
    ofKeys.query = op.getQueryGradient();
  CaptureGroup ofQueries;
  bool withQueries = op.getQueryGradient() && !isOnePass;
  int64_t block = getBlock(queries, config.getQueryBlock());
  AffineExpr s0 = rewriter.getAffineSymbolExpr(0);
  OpFoldResult blocks = affine::makeComposedFoldedAffineApply(
      rewriter, loc, s0.ceilDiv(block), {queries});
  CaptureSums captures(rewriter, op,
                       {batches, isOnePass ? keyHeads : heads, blocks},
                       /*blocksInOrder=*/isOnePass);
  if (hasWholeBlocks) {
    bool addsUp = op.getScaleGradient() || !op.getCaptureGradients().empty();
    CaptureSums::SharedSums shared =
        addsUp && config.getDeterministic()
            ? captures.createOrdered(withQueries, hasKeys,
                                     getBlockLoop(RowKind::queries),
                                     getBlockLoop(RowKind::keys))
            : captures.createShared(withQueries, hasKeys);
    ofKeys.captures = shared.ofKeys;
    ofQueries = shared.ofQueries;
    if (!withQueries && !ofQueries.sums.empty())
      tileQueries(ofQueries, /*withQueries=*/false);
  } else {
    for (CaptureGroup &group : captures.create()) {
      bool isParallel = group.isParallel == IterationDims{true, true, true};
      if (isOnePass && isParallel)
        ofKeys.captures = group;
      else if (withQueries && isParallel)
        ofQueries = group;
      else
        tileQueries(group, /*withQueries=*/false);
    }
  }
  if (addsInParallel) {
    tileKeysByHeads(ofKeys);
    tileSums();
  } else if (isOnePass && !hasWholeBlocks) {
    tileKeyHeads(ofKeys);
  } else if (form == GradientForm::three_pass && ofKeys.key && ofKeys.value) {
    tileKeys({ofKeys.key, Value(), Value(), ofKeys.captures});
    tileKeys({Value(), ofKeys.value, Value(), {}});
  } else if (hasKeys) {
    tileKeys(ofKeys);
  }
  if (withQueries)
    tileQueries(ofQueries, /*withQueries=*/true);
  captures.store(/*byCopies=*/hasWholeBlocks);
  for (Value memory : workspaces)
    memref::DeallocOp::create(rewriter, loc, memory);
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

LogicalResult mlir::fa::tileGradient(RewriterBase &rewriter,
                                     AttentionGradientOp op) {
  if (!op.getConfigAttr())
    return op.emitOpError("has no config, expected one that gives the query "
                          "block and the key block; fa-select-config sets it");
  if (failed(verifyForAnyKeys(op)))
    return failure();
  if (isa<RankedTensorType>(op.getQuery().getType()))
    return op.emitOpError("is on tensors, expected memrefs: "
                          "fa-results-to-out-parameters makes them");
  if (!op.getScore().empty() && op.getScoreGradient().empty())
    return op.emitOpError("has a score region but no score_gradient region; "
                          "fa-differentiate-score derives it");
  if (!op.getDifferentiatedSink().empty() && op.getSinkGradient().empty())
    return op.emitOpError("has a sink region but no sink_gradient region; "
                          "fa-differentiate-score derives it");
  TargetConfigAttrInterface target = op.getConfigAttr().getTarget();
  if (op.isRagged() && (!target || target.getTargetName() != "gpu"))
    op = cutGradient(rewriter, op);
  GradientTiler(rewriter, op).tile();
  return success();
}

namespace {
struct TileGradientPass
    : public fa::impl::FATileGradientBase<TileGradientPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FATileGradientBase::getDependentDialects(registry);
    registry.insert<cf::ControlFlowDialect, fagpu::FAGPUDialect,
                    gpu::GPUDialect, math::MathDialect>();
  }

  void runOnOperation() override {
    SmallVector<AttentionGradientOp> all;
    getOperation()->walk([&](AttentionGradientOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionGradientOp op : all)
      if (failed(fillGradientWithoutPairs(rewriter, op)) &&
          failed(tileGradient(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
