//===- ExponentsToBase2.cpp - Powers of 2 in place of exponentials --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RealRange.h"
#include "SoftmaxStep.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/IR/Remarks.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUEXPONENTSTOBASE2PASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr StringLiteral passName = "fagpu-exponents-to-base2";

/// The maximum of a row up to this is rounded in base 2 by at most 8: weights
/// of keys that share it stay within the range of f16. Beyond, scores are 16
/// apart, so that other keys weigh nothing to either base.
static constexpr double largestRoundedScore = 0x1p27;

/// Whether a row may have scores so large that the rounding of its maximum in
/// base 2 overflows powers of 2. Products of queries and keys alone are taken
/// for smaller.
static bool mayBeLarge(const SoftmaxStep &step) {
  if (arePlain(step.scores))
    return false;
  double size = getRealRange(step.scores).getSize();
  // A soft cap that is not known bounds scores that are smaller without it.
  auto scaled = matchScaled(step.scores);
  if (scaled && isa<Value>(scaled->factor))
    size = std::min(size, getRealRange(scaled->rest).getSize());
  return !(size <= largestRoundedScore);
}

/// The factor of each row: 1 where the maximum is large, so that differences to
/// it are exact. Beside the reference, on which the weights wait.
static Value chooseRowFactor(Blocks &blocks, Value maximum, Value factor) {
  Value size = math::AbsFOp::create(blocks.builder, blocks.loc, maximum);
  Value isLarge = arith::CmpFOp::create(
      blocks.builder, blocks.loc, arith::CmpFPredicate::OGT, size,
      blocks.constant(largestRoundedScore, size.getType()));
  return blocks.select(isLarge, blocks.constant(1.0f, size.getType()), factor);
}

static std::string takeToBase2(KeyRangesOp ranges) {
  std::optional<SoftmaxStep> step = SoftmaxStep::match(ranges);
  if (!step)
    return noStep.str();
  Location loc = ranges.getLoc();
  std::optional<ScaledBlock> scaled = step->matchMovableFactor();
  bool isLarge = mayBeLarge(*step);
  if (isLarge)
    scaled.reset();
  auto options = remark::RemarkOpts::name("Factor").category(passName);
  if (scaled)
    remark::passed(loc, options) << "a factor of all scores joins log2(e)";
  else if (matchScaled(step->scores))
    remark::missed(loc, options)
        << (isLarge ? "a factor of all scores takes a product for each: they "
                      "may be of any size"
                    : "a factor of all scores takes a product for each: it may "
                      "be negative, is one of a key block, or is multiplied in "
                      "order");
  OpBuilder builder(ranges);
  Value factor = makeBase2Factor(builder, loc, scaled);
  if (scaled)
    step->scores.replaceAllUsesWith(scaled->rest);
  Value hidden = step->blockMaximum.getSource();
  auto rowType = step->maximum.getType();
  builder.setInsertionPointAfter(step->reference);
  Blocks blocks(builder, loc);
  Value rowFactor = blocks.splat(factor, rowType);
  if (isLarge)
    rowFactor = chooseRowFactor(blocks, step->maximum, rowFactor);
  Value shift = arith::MulFOp::create(builder, loc, step->reference.getResult(),
                                      rowFactor);
  builder.setInsertionPoint(step->weights);
  Value exponents = math::FmaOp::create(
      builder, loc, hidden,
      isLarge ? blocks.broadcast(rowFactor, hidden.getType())
              : blocks.splat(factor, hidden.getType()),
      blocks.broadcast(arith::NegFOp::create(builder, loc, shift),
                       hidden.getType()));
  step->weights.replaceAllUsesWith(blocks.exp2(exponents));
  // Rounded as above, so that an unchanged maximum gives exactly 1.
  builder.setInsertionPoint(step->alpha);
  Value before =
      arith::MulFOp::create(builder, loc, step->maximum.getLhs(), rowFactor);
  step->alpha.replaceAllUsesWith(
      blocks.exp2(arith::SubFOp::create(builder, loc, before, shift)));
  if (isLarge)
    takeLogarithmToBase2(*step);
  else
    takeLseToBase2(*step, factor);
  return "";
}

namespace {
struct ExponentsToBase2Pass
    : public fa::impl::FAGPUExponentsToBase2PassBase<ExponentsToBase2Pass> {
  void runOnOperation() override {
    rewriteSteps(getOperation(), passName, "weights are powers of 2",
                 takeToBase2);
  }
};
} // namespace
