//===- SkipFirstRescale.cpp - Nothing to rescale in the first block -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "SoftmaxStep.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSKIPFIRSTRESCALEPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// What rescales the sums and the result of the blocks before.
struct Rescaling {
  math::FmaOp sum;
  arith::MulFOp result;
  /// The factor of each row.
  Value alpha;
};
} // namespace

static std::optional<Rescaling> matchRescaling(KeyRangesOp ranges) {
  if (ranges.getNumResults() != 3)
    return std::nullopt;
  auto state = ranges.getRegionIterArgs();
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  auto product = yield->getOperand(0).getDefiningOp<fagpu::ProductOp>();
  Rescaling found;
  found.sum = yield->getOperand(2).getDefiningOp<math::FmaOp>();
  if (!product || !product.getAcc() || !found.sum)
    return std::nullopt;
  found.result = product.getAcc().getDefiningOp<arith::MulFOp>();
  if (!found.result || found.result.getLhs() != state[0] ||
      found.sum.getA() != state[2])
    return std::nullopt;
  found.alpha = getBroadcastRows(found.result.getRhs());
  Value ofSum = found.sum.getB();
  if (Value rows = getBroadcastRows(ofSum))
    ofSum = rows;
  if (!found.alpha || ofSum != found.alpha)
    return std::nullopt;
  return found;
}

/// Where the flag of the first block is not constant, the factor is chosen
/// rather than each of its products.
static void chooseFactor(const Rescaling &rescaling, Location loc) {
  Value alpha = rescaling.alpha;
  Operation *reader = rescaling.sum;
  for (Operation *user : alpha.getUsers())
    if (Operation *at = reader->getBlock()->findAncestorOpInBlock(*user))
      reader = at->isBeforeInBlock(reader) ? at : reader;
  OpBuilder builder(reader);
  Value first = IsFirstOp::create(builder, loc, builder.getI1Type());
  Blocks blocks(builder, loc);
  Value chosen =
      blocks.select(first, blocks.constant(1.0f, alpha.getType()), alpha);
  alpha.replaceAllUsesExcept(chosen, chosen.getDefiningOp());
}

/// Before its product a step is the older one, which may be the first: then the
/// result is rescaled in any case.
static void chooseState(KeyRangesOp ranges, Rescaling rescaling,
                        bool isAfterProduct) {
  Location loc = ranges.getLoc();
  OpBuilder builder(rescaling.sum);
  if (rescaling.result->isBeforeInBlock(rescaling.sum))
    builder.setInsertionPoint(rescaling.result);
  Blocks blocks(builder, loc);
  Value first = IsFirstOp::create(builder, loc, builder.getI1Type());
  builder.setInsertionPointAfter(rescaling.sum);
  Value sum = blocks.select(first, rescaling.sum.getC(), rescaling.sum);
  rescaling.sum.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  if (!isAfterProduct)
    return;
  builder.setInsertionPointAfter(rescaling.result);
  Value result =
      blocks.select(first, ranges.getRegionIterArgs()[0], rescaling.result);
  rescaling.result.getResult().replaceAllUsesExcept(result,
                                                    result.getDefiningOp());
}

static std::string skipFirst(KeyRangesOp ranges, GPUPart config) {
  std::optional<Rescaling> rescaling = matchRescaling(ranges);
  if (!rescaling)
    return "the loop rescales no sum and result by one factor of rows";
  if (!matchPattern(ranges.getInits()[0], m_AnyZeroFloat()) ||
      !matchPattern(ranges.getInits()[2], m_AnyZeroFloat()))
    return "sum and result do not begin at 0";
  if (config.rolled)
    chooseFactor(*rescaling, ranges.getLoc());
  else
    chooseState(ranges, *rescaling,
                config.rescale == RescalePlace::after_product);
  return "";
}

namespace {
struct SkipFirstRescalePass
    : public fa::impl::FAGPUSkipFirstRescalePassBase<SkipFirstRescalePass> {
  void runOnOperation() override {
    GPUPart config = getGPUPart(getOperation());
    rewriteSteps(getOperation(), getArgument(),
                 "the first block rescales nothing",
                 [&](KeyRangesOp ranges) { return skipFirst(ranges, config); });
  }
};
} // namespace
