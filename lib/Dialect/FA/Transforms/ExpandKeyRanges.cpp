//===- ExpandKeyRanges.cpp - Key ranges to loops --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each range becomes a loop of the same body. A full range needs no mask, and
// where sizes are known none is checked. Read `expandKeyRanges` first, then
// `buildLoop`. `dropMask`, `makeSizesStatic` and `answer` change the copied
// body.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAEXPANDKEYRANGES
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// In a full range every pair is visible, so the step needs no mask.
template <typename OpTy> static void dropMask(OpTy step) {
  step.getMaskCapturesMutable().clear();
  step.getMask().getBlocks().clear();
}

static void dropMaskOf(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case<OnlineAttentionOp, GradientKeysOp, GradientQueriesOp>(
          [](auto step) { dropMask(step); });
}

/// Gives `view` static sizes where its sizes are constants, so that full
/// blocks get code without tails. Only steps of attention take the new type.
static void makeSizesStatic(RewriterBase &rewriter, memref::SubViewOp view) {
  auto isStep = [](Operation *user) {
    return isa<AttentionLikeOpInterface>(user);
  };
  if (!llvm::all_of(view->getUsers(), isStep))
    return;
  SmallVector<OpFoldResult> sizes = view.getMixedSizes();
  for (OpFoldResult &size : sizes)
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      size = rewriter.getIndexAttr(*constant);
  if (sizes == view.getMixedSizes())
    return;
  rewriter.setInsertionPoint(view);
  // A view without dropped dimensions: steps take all of an operand.
  if (view.getType().getRank() != static_cast<int64_t>(sizes.size()))
    return;
  auto narrowed = memref::SubViewOp::create(
      rewriter, view.getLoc(), view.getSource(), view.getMixedOffsets(), sizes,
      view.getMixedStrides());
  rewriter.replaceAllUsesWith(view.getResult(), narrowed.getResult());
  rewriter.eraseOp(view);
}

/// What a body asks about its block, where the loop knows it.
static void answer(RewriterBase &rewriter, scf::ForOp loop, bool full) {
  loop.getBody()->walk([&](Operation *op) {
    if (!isa<IsPartialOp, IsFirstOp>(op))
      return;
    rewriter.setInsertionPoint(op);
    bool isPartial = isa<IsPartialOp>(op) && !full;
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getBoolAttr(isPartial));
  });
}

/// One loop over the blocks of range `index`, carrying `carried`.
static scf::ForOp buildLoop(RewriterBase &rewriter,
                            BlockRangesOpInterface ranges, unsigned index,
                            Value step, ValueRange carried) {
  Location loc = ranges.getLoc();
  bool full = ranges.getFull()[index];
  Value end = ranges.getEnds()[index];
  auto loop = scf::ForOp::create(rewriter, loc, ranges.getBegins()[index], end,
                                 step, carried);
  OpBuilder::InsertionGuard guard(rewriter);
  Block *body = loop.getBody();
  // Without carried values the builder has put the terminator already.
  if (!body->empty())
    rewriter.eraseOp(body->getTerminator());
  rewriter.setInsertionPointToEnd(body);

  Value first = loop.getInductionVar();
  Value count = step;
  if (!full) {
    // min(step, end - first), in a form whose bound is known to later passes.
    AffineExpr d0 = rewriter.getAffineDimExpr(0);
    AffineExpr s0 = rewriter.getAffineSymbolExpr(0);
    AffineExpr limit = rewriter.getAffineConstantExpr(ranges.getStep());
    AffineMap map =
        AffineMap::get(1, 1, {limit, s0 - d0}, rewriter.getContext());
    count =
        affine::AffineMinOp::create(rewriter, loc, map, ValueRange{first, end});
  }
  IRMapping mapping;
  Block &source = ranges.getBodyRegion().front();
  mapping.map(source.getArgument(0), first);
  mapping.map(source.getArgument(1), count);
  mapping.map(source.getArguments().drop_front(2), loop.getRegionIterArgs());
  for (Operation &op : source.without_terminator())
    rewriter.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value value : source.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  scf::YieldOp::create(rewriter, loc, yielded);

  answer(rewriter, loop, full);
  if (!full)
    return loop;
  SmallVector<memref::SubViewOp> views;
  body->walk([&](Operation *op) {
    dropMaskOf(op);
    if (auto view = dyn_cast<memref::SubViewOp>(op))
      views.push_back(view);
  });
  for (memref::SubViewOp view : views)
    makeSizesStatic(rewriter, view);
  return loop;
}

void mlir::fa::expandKeyRanges(RewriterBase &rewriter,
                               BlockRangesOpInterface ranges) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(ranges);
  Value step = arith::ConstantIndexOp::create(rewriter, ranges.getLoc(),
                                              ranges.getStep());
  SmallVector<Value> carried(ranges.getInits());
  for (unsigned index = 0; index < ranges.getFull().size(); ++index) {
    scf::ForOp loop = buildLoop(rewriter, ranges, index, step, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  rewriter.replaceOp(ranges, carried);
}

namespace {
struct ExpandKeyRangesPass
    : public fa::impl::FAExpandKeyRangesBase<ExpandKeyRangesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<BlockRangesOpInterface> all;
    getOperation()->walk(
        [&](BlockRangesOpInterface ranges) { all.push_back(ranges); });
    for (BlockRangesOpInterface ranges : all)
      expandKeyRanges(rewriter, ranges);
  }
};
} // namespace
