//===- DifferentiateScore.cpp - Gradients of score functions --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse mode over one region: adjoints from its end to its begin, by the
// rules of GradientRules.cpp. Scores first, then sinks. Begin with
// `differentiateScore`; it calls `fillGradient` for each region, and `derive`
// does the work.
//
//===----------------------------------------------------------------------===//

#include "ScalarGradients.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FADIFFERENTIATESCORE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// The block argument of the capture that an operation loads from, or null.
static BlockArgument getLoadedArgument(Operation *op) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return dyn_cast<BlockArgument>(extract.getTensor());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return dyn_cast<BlockArgument>(load.getMemRef());
  return BlockArgument();
}

namespace {
/// The region to make of one score, or of one sink.
struct Derivation {
  AttentionGradientOp op;
  OpBuilder builder;
  /// What is differentiated, and what is made of it.
  Block &score, &gradient;
  /// Arguments before captures: of a score itself and four indices, of a sink
  /// three indices.
  unsigned firstCapture;
  /// The captures of which gradients are wanted.
  ArrayRef<int64_t> differentiated;
  IRMapping copies;

  bool isOfSink() { return score.getParent() == &op.getSink(); }
  /// Whether a gradient of the capture that is argument `argument` of the score
  /// is wanted.
  bool isDifferentiated(BlockArgument argument) {
    return argument.getArgNumber() >= firstCapture &&
           llvm::is_contained(differentiated,
                              argument.getArgNumber() - firstCapture);
  }
  void scatter(Location loc, Value value, BlockArgument capture,
               ValueRange indices) {
    value = convertFloat(builder, loc, value, builder.getF32Type());
    ScatterGradientOp::create(builder, loc, value, copies.lookup(capture),
                              indices);
  }
};
} // namespace

static LogicalResult derive(Derivation &derivation) {
  auto &[op, builder, score, gradient, firstCapture, differentiated, copies] =
      derivation;
  ScalarGradients gradients(builder, copies);
  if (!derivation.isOfSink())
    gradients.want(score.getArgument(0));
  SmallVector<Operation *> loads;
  for (BlockArgument argument : score.getArguments())
    if (isa<FloatType>(argument.getType()) &&
        derivation.isDifferentiated(argument))
      gradients.want(argument);
  for (Operation &nested : score)
    if (BlockArgument argument = getLoadedArgument(&nested);
        argument && derivation.isDifferentiated(argument)) {
      gradients.want(nested.getResult(0));
      loads.push_back(&nested);
    }
  Value result = score.getTerminator()->getOperand(0);
  if (failed(gradients.analyze(score, result)))
    return failure();

  for (BlockArgument argument : score.getArguments())
    copies.map(argument, gradient.getArgument(argument.getArgNumber() + 1));
  for (BlockArgument argument :
       gradient.getArguments().drop_front(firstCapture + 1))
    gradients.share(argument);
  cloneValues(builder, score, copies);
  gradients.add(result, gradient.getArgument(0));
  gradients.run(score);
  // A lambda of C++17 takes no structured binding along.
  IRMapping &copied = copies;
  for (Operation *load : loads)
    if (Value value = gradients.get(load->getResult(0)))
      derivation.scatter(load->getLoc(), value, getLoadedArgument(load),
                         llvm::map_to_vector(load->getOperands().drop_front(),
                                             [&](Value index) {
                                               return copied.lookup(index);
                                             }));
  for (BlockArgument argument : score.getArguments().drop_front(firstCapture))
    if (Value value = gradients.get(argument))
      derivation.scatter(op.getLoc(), value, argument, {});
  if (derivation.isOfSink()) {
    YieldOp::create(builder, op.getLoc());
    return success();
  }
  Value ofScore = gradients.get(score.getArgument(0));
  if (!ofScore)
    ofScore = arith::ConstantOp::create(builder, op.getLoc(),
                                        builder.getF32FloatAttr(0));
  YieldOp::create(builder, op.getLoc(), ofScore);
  return success();
}

/// Fills the empty region `gradient` with that of `of`, a score or a sink.
static LogicalResult fillGradient(RewriterBase &rewriter,
                                  AttentionGradientOp op, Region &of,
                                  Region &gradient, unsigned firstCapture,
                                  ArrayRef<int64_t> differentiated) {
  if (of.empty() || !gradient.empty())
    return success();
  Block &score = of.front();
  SmallVector<Type> types{rewriter.getF32Type()};
  llvm::append_range(types, score.getArgumentTypes());
  SmallVector<Location> locs(types.size(), op.getLoc());
  OpBuilder::InsertionGuard guard(rewriter);
  Block *block = rewriter.createBlock(&gradient, {}, types, locs);
  Derivation derivation{op,
                        OpBuilder::atBlockEnd(block),
                        score,
                        *block,
                        firstCapture,
                        differentiated,
                        {}};
  if (failed(derive(derivation))) {
    rewriter.eraseBlock(block);
    return failure();
  }
  // What only the score's own result needed goes.
  for (Operation &nested : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (isOpTriviallyDead(&nested))
      rewriter.eraseOp(&nested);
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, op);
  return success();
}

LogicalResult fa::differentiateScore(RewriterBase &rewriter,
                                     AttentionGradientOp op) {
  if (failed(fillGradient(rewriter, op, op.getScore(), op.getScoreGradient(),
                          /*firstCapture=*/5, op.getDifferentiated())))
    return failure();
  // A sink whose gradient nobody asks for needs none.
  if (op.getDifferentiatedSink().empty())
    return success();
  return fillGradient(rewriter, op, op.getSink(), op.getSinkGradient(),
                      /*firstCapture=*/3, op.getDifferentiatedSink());
}

namespace {
struct DifferentiateScorePass
    : public fa::impl::FADifferentiateScoreBase<DifferentiateScorePass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionGradientOp> ops;
    getOperation()->walk([&](AttentionGradientOp op) { ops.push_back(op); });
    for (AttentionGradientOp op : ops)
      if (failed(differentiateScore(rewriter, op)))
        return signalPassFailure();
    // Nothing else derives gradients: what is left is the value.
    getOperation()->walk([&](StopGradientOp stop) {
      rewriter.replaceOp(stop, stop.getValue());
    });
  }
};
} // namespace
