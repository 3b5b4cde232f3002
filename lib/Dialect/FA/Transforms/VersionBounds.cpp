//===- VersionBounds.cpp - A version of attention for bounded scores ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two versions of an attention whose scores a captured number bounds. Read
// `versionBounds`: it asks `findCap` for the number, compares it, and clones
// the attention into both branches. `limitCap` makes the bound visible in one
// version, `makeSeldomConfig` makes the other one quick to compile.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVERSIONBOUNDS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// The largest score that is exponentiated as it is: sums of 2^30 weights of
/// exp(50) and their products with values below 2^24 are numbers of f32.
static constexpr float largestScore = 50.0f;

/// The captured number, an argument of the region, that scores are a part of:
/// they are its product, or that of its size, with a tanh. Null for others.
static BlockArgument findCap(Region &score) {
  if (score.empty())
    return {};
  auto product = score.front()
                     .getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                            std::pair(product.getRhs(), product.getLhs())}) {
    if (!one.getDefiningOp<math::TanhOp>())
      continue;
    Value cap = other;
    if (auto size = cap.getDefiningOp<math::AbsFOp>())
      cap = size.getOperand();
    auto argument = dyn_cast<BlockArgument>(cap);
    if (argument && argument.getOwner() == &score.front() &&
        argument.getType().isF32())
      return argument;
  }
  return {};
}

/// Whether weights are rounded to 16 bits: a bound of scores is of use then.
static bool roundsWeights(AttentionOp op) {
  return getElementTypeOrSelf(op.getValue().getType())
             .getIntOrFloatBitWidth() == 16;
}

/// Holds the cap in the score of `op` to what the condition says it is.
static void limitCap(RewriterBase &rewriter, AttentionOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  Block &body = op.getScore().front();
  BlockArgument cap = findCap(op.getScore());
  rewriter.setInsertionPointToStart(&body);
  Location loc = op.getLoc();
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getF32FloatAttr(value));
  };
  Value above =
      arith::MaximumFOp::create(rewriter, loc, cap, number(-largestScore));
  Value limited =
      arith::MinimumFOp::create(rewriter, loc, above, number(largestScore));
  cap.replaceAllUsesExcept(limited, above.getDefiningOp());
}

/// The configuration of the version for any number. Few calls take it, and all
/// wait for its machine code, which is half as long with half the keys.
static ConfigAttr makeSeldomConfig(AttentionOp version) {
  ConfigAttr config = version.getConfigAttr();
  constexpr int64_t keys = 128;
  if (config.getKeyBlock() != keys ||
      !cast<GPUConfigAttr>(config.getTarget()).getPart().hasGroups())
    return config;
  remark::passed(version.getLoc(), remark::RemarkOpts::name("Config").category(
                                       "fa-version-bounds"))
      << llvm::formatv(
             "key_block = {0} where the number that bounds scores is "
             "not from {1:f0} to {2:f0}, and {3} elsewhere: few calls take "
             "this version, and its machine code is half as long",
             keys / 2, -largestScore, largestScore, keys)
             .str();
  return config.withBlocks(config.getQueryBlock(), keys / 2);
}

static void versionBounds(RewriterBase &rewriter, AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config || !isa_and_present<GPUConfigAttr>(config.getTarget()) ||
      !roundsWeights(op))
    return;
  BlockArgument argument = findCap(op.getScore());
  if (!argument)
    return;
  Block &body = op.getScore().front();
  unsigned numCaptures = op.getScoreCaptures().size();
  int64_t number = static_cast<int64_t>(argument.getArgNumber()) -
                   (body.getNumArguments() - numCaptures);
  if (number < 0)
    return;
  Value cap = op.getScoreCaptures()[number];
  // What the scores of a known one are bounded by is seen without.
  if (matchPattern(cap, m_Constant()))
    return;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto compare = [&](arith::CmpFPredicate predicate, float limit) -> Value {
    Value constant = arith::ConstantOp::create(rewriter, loc,
                                               rewriter.getF32FloatAttr(limit));
    return arith::CmpFOp::create(rewriter, loc, predicate, cap, constant);
  };
  Value isSmall = arith::AndIOp::create(
      rewriter, loc, compare(arith::CmpFPredicate::OLE, largestScore),
      compare(arith::CmpFPredicate::OGE, -largestScore));
  auto branch = scf::IfOp::create(rewriter, loc, op->getResultTypes(), isSmall,
                                  /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.createBlock(region);
    auto version = cast<AttentionOp>(rewriter.clone(*op));
    scf::YieldOp::create(rewriter, loc, version->getResults());
    if (region == &branch.getThenRegion())
      limitCap(rewriter, version);
    else
      version.setConfigAttr(makeSeldomConfig(version));
  }
  rewriter.replaceOp(op, branch.getResults());
}

namespace {
struct VersionBoundsPass
    : public mlir::fa::impl::FAVersionBoundsBase<VersionBoundsPass> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) { attentions.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      versionBounds(rewriter, op);
  }
};
} // namespace
