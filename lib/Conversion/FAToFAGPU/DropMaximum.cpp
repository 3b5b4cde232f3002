//===- DropMaximum.cpp - No running maximum of bounded scores -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where scores have a known bound, their exponents need no running maximum.
// Read `dropMaximum`: it asks `getObstacle` whether the bound is small enough,
// writes the weights without the maximum (`makeExponents`), and takes the
// rescaling out of the loop. `roundLargestWeight` then keeps rows of one key
// exact.
//
//===----------------------------------------------------------------------===//

#include "RealRange.h"
#include "SoftmaxStep.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUDROPMAXIMUMPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Powers of 2 with exponents up to this, and their sums, stay in the range of
/// f32 and of bf16.
static constexpr double largestExponent = 73.0;

static std::string getObstacle(const SoftmaxStep &step) {
  fagpu::ProductOp product = step.product;
  if (!getElementTypeOrSelf(product.getA()).isBF16())
    return "weights are not rounded to bf16";
  double size = getRealRange(step.scores).getSize() * llvm::numbers::log2e;
  if (!std::isfinite(size))
    return "no bound of the scores is known";
  if (size > largestExponent)
    return llvm::formatv("exponents to base 2 reach {0:f1}, more than {1:f1}",
                         size, largestExponent);
  return "";
}

/// Scores as exponents to base 2, of which `base2` is the movable factor.
/// Others that all pairs have are multiplied before.
static Value makeExponents(const SoftmaxStep &step, Value base2,
                           const std::optional<ScaledBlock> &movable,
                           OpBuilder &inside) {
  Location loc = step.ranges->getLoc();
  OpBuilder outside(step.ranges);
  Value factor = base2, rest = movable ? movable->rest : step.scores;
  while (std::optional<ScaledBlock> scaled = matchScaled(rest)) {
    if (!scaled->isFactorOutside(step.ranges))
      break;
    factor = arith::MulFOp::create(outside, loc, factor,
                                   scaled->makeFactor(outside, loc));
    rest = scaled->rest;
    if (!scaled->mayReorder())
      break;
  }
  return arith::MulFOp::create(
      inside, loc, rest, Blocks(inside, loc).splat(factor, rest.getType()));
}

/// Whether what an operation computes has an effect, by its users and theirs.
static bool isRead(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return !wouldOpBeTriviallyDead(user) || isRead(user);
  });
}

namespace {
/// What becomes of the sum of weights behind the loop.
struct SumUses {
  /// Quotients by the sum, and the factor that a sink gives it, or null.
  SmallVector<std::pair<OpOperand *, Value>> divisors;
  bool hasLse = false;

  explicit SumUses(Value sum, Value factor = {}) {
    for (OpOperand &use : sum.getUses()) {
      auto withSink = dyn_cast<math::FmaOp>(use.getOwner());
      if (isa<math::LogOp>(use.getOwner())) {
        hasLse |= isRead(use.getOwner());
      } else if (isa<arith::DivFOp>(use.getOwner())) {
        divisors.emplace_back(&use, factor);
      } else if (withSink && withSink.getA() == sum) {
        SumUses others(withSink, withSink.getB());
        hasLse |= others.hasLse;
        llvm::append_range(divisors, others.divisors);
      }
    }
  }
};
} // namespace

/// Whether scores are of a tanh that may be approximate: weights err by more
/// than their rounding then.
static bool areApproximate(Value scores) {
  SetVector<Value> made;
  made.insert(scores);
  for (size_t i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (!op || isa<fagpu::ProductOp>(op))
      continue;
    auto tanh = dyn_cast<math::TanhOp>(op);
    if (tanh && arith::bitEnumContainsAll(tanh.getFastmath(),
                                          arith::FastMathFlags::afn))
      return true;
    if (!tanh)
      made.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// The largest weight of a row is rounded for its product with the values, and
/// not in the sum that lse is the logarithm of; under a maximum it is 1. So the
/// result is divided by the sum with this weight rounded: of one key it is the
/// key's value then, exactly, which gradients rely on.
static void roundLargestWeight(const SoftmaxStep &step, const SumUses &uses) {
  KeyRangesOp ranges = step.ranges;
  fagpu::ProductOp product = step.product;
  Location loc = ranges.getLoc();
  Value before = ranges.getRegionIterArgs()[1];
  Type type = before.getType();
  OpBuilder builder(ranges);
  ranges.getInitsMutable()[1].set(Blocks(builder, loc).constant(0.0f, type));
  fagpu::ReduceOp blockSum = step.blockSum;
  builder.setInsertionPointAfter(blockSum);
  Value ofBlock =
      Blocks(builder, loc)
          .reduce(fagpu::ReductionKind::max, blockSum.getSource(), type);
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  yield->setOperand(1, arith::MaxNumFOp::create(builder, loc, before, ofBlock));
  builder.setInsertionPointAfter(ranges);
  Value largest = ranges.getResult(1);
  Type element = getElementTypeOrSelf(product.getA());
  Value rounded = arith::ExtFOp::create(
      builder, loc, type, Blocks(builder, loc).truncate(largest, element));
  Value change = arith::SubFOp::create(builder, loc, rounded, largest);
  for (auto [divisor, factor] : uses.divisors) {
    builder.setInsertionPoint(divisor->getOwner());
    Value own = change;
    if (factor)
      own = arith::MulFOp::create(builder, loc, change, factor);
    divisor->set(arith::AddFOp::create(builder, loc, divisor->get(), own));
  }
}

static std::string dropMaximum(KeyRangesOp ranges) {
  std::optional<SoftmaxStep> step = SoftmaxStep::match(ranges);
  if (!step)
    return noStep.str();
  if (std::string obstacle = getObstacle(*step); !obstacle.empty())
    return obstacle;
  Location loc = ranges.getLoc();
  OpBuilder builder(ranges);
  std::optional<ScaledBlock> movable = step->matchMovableFactor();
  Value base2 = makeBase2Factor(builder, loc, movable);
  builder.setInsertionPointAfterValue(step->scores);
  Value exponents = makeExponents(*step, base2, movable, builder);
  step->scores.replaceAllUsesExcept(exponents, exponents.getDefiningOp());
  builder.setInsertionPoint(step->weights);
  Value hidden = step->blockMaximum.getSource();
  step->weights.replaceAllUsesWith(Blocks(builder, loc).exp2(hidden));
  builder.setInsertionPoint(step->sum);
  step->sum.replaceAllUsesWith(arith::AddFOp::create(builder, loc,
                                                     step->sum.getA(),
                                                     step->blockSum.getResult())
                                   .getResult());
  step->rescaled.replaceAllUsesWith(step->rescaled.getLhs());
  builder.setInsertionPoint(ranges);
  // Before lse is made of another logarithm, and this one is read no more.
  SumUses uses(ranges.getResult(2));
  takeLseToBase2(*step, base2);
  Value zero = Blocks(builder, loc).constant(0.0f, step->maximum.getType());
  step->maximum.replaceAllUsesWith(zero);
  if (uses.hasLse && !uses.divisors.empty() && !areApproximate(exponents)) {
    ranges.getResult(1).replaceAllUsesWith(zero);
    roundLargestWeight(*step, uses);
  }
  return "";
}

namespace {
struct DropMaximumPass
    : public fa::impl::FAGPUDropMaximumPassBase<DropMaximumPass> {
  void runOnOperation() override {
    rewriteSteps(getOperation(), getArgument(),
                 "scores are bounded: exponents are taken from 0", dropMaximum);
  }
};
} // namespace
