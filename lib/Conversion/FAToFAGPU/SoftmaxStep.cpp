//===- SoftmaxStep.cpp - The step of online softmax in a loop -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches a step from what its loop yields backwards: the state, the weights,
// the scores, the use of the maximum behind the loop. Each part checks that
// nothing else reads its values. `rewriteSteps` runs a rewrite and says what
// came of it.
//
//===----------------------------------------------------------------------===//

#include "SoftmaxStep.h"
#include "RealRange.h"
#include "fa/Dialect/FA/IR/FADialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fa;

std::optional<ScaledBlock> mlir::fa::matchScaled(Value block) {
  auto product = block.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (auto [factor, rest] : {std::pair(product.getRhs(), product.getLhs()),
                              std::pair(product.getLhs(), product.getRhs())}) {
    if (auto splat = factor.getDefiningOp<tensor::SplatOp>())
      return ScaledBlock{product, rest, getAsOpFoldResult(splat.getInput())};
    DenseElementsAttr constant;
    if (matchPattern(factor, m_Constant(&constant)) && constant.isSplat())
      return ScaledBlock{product, rest, constant.getSplatValue<Attribute>()};
  }
  return std::nullopt;
}

bool ScaledBlock::mayReorder() const {
  arith::MulFOp multiplication = product;
  return arith::bitEnumContainsAll(multiplication.getFastmath(),
                                   arith::FastMathFlags::reassoc);
}

bool ScaledBlock::isFactorOutside(KeyRangesOp ranges) const {
  auto value = dyn_cast<Value>(factor);
  return !value || !ranges.getBodyRegion().isAncestor(value.getParentRegion());
}

bool ScaledBlock::isFactorNonNegative() const {
  if (auto value = dyn_cast<Value>(factor))
    return isNonNegative(value);
  auto number = cast<FloatAttr>(cast<Attribute>(factor));
  return number.getValueAsDouble() >= 0.0;
}

Value ScaledBlock::makeFactor(OpBuilder &builder, Location loc) const {
  if (auto value = dyn_cast<Value>(factor))
    return value;
  return arith::ConstantOp::create(builder, loc,
                                   cast<TypedAttr>(cast<Attribute>(factor)));
}

Value mlir::fa::getBroadcastRows(Value block) {
  auto broadcast = block.getDefiningOp<fagpu::BroadcastOp>();
  return broadcast ? broadcast.getSource() : Value();
}

bool mlir::fa::isReduction(fagpu::ReduceOp reduce, fagpu::ReductionKind kind) {
  return reduce && reduce.getKind() == kind;
}

Value mlir::fa::makeNumber(OpBuilder &builder, Location loc, double number) {
  return arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(static_cast<float>(number)));
}

/// What a branch yields for one of its results, on one side.
static Value getYielded(Value result, Region &side) {
  unsigned number = cast<OpResult>(result).getResultNumber();
  return side.front().getTerminator()->getOperand(number);
}

Value mlir::fa::findScores(Value hidden) {
  // A full block hides nothing. What a score function ends in, a select of its
  // own too, is part of the scores.
  Value scores = hidden;
  if (auto branch = hidden.getDefiningOp<scf::IfOp>())
    scores = getYielded(hidden, branch.getElseRegion());
  // The other ways from there: each value is read once, so no way is gone
  // twice.
  SmallVector<Value> toVisit = {hidden};
  while (!toVisit.empty()) {
    Value value = toVisit.pop_back_val();
    if (value == scores)
      continue;
    if (value != hidden && !value.hasOneUse())
      return {};
    if (auto branch = value.getDefiningOp<scf::IfOp>()) {
      toVisit.push_back(getYielded(value, branch.getThenRegion()));
      toVisit.push_back(getYielded(value, branch.getElseRegion()));
      continue;
    }
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select || !matchPattern(select.getFalseValue(), m_NegInfFloat()))
      return {};
    toVisit.push_back(select.getTrueValue());
  }
  return scores;
}

bool mlir::fa::arePlain(Value scores) {
  if (std::optional<ScaledBlock> scaled = matchScaled(scores))
    scores = scaled->rest;
  return static_cast<bool>(scores.getDefiningOp<fagpu::ProductOp>());
}

Value mlir::fa::findMaximum(arith::SelectOp reference) {
  auto isNone = reference.getCondition().getDefiningOp<arith::CmpFOp>();
  Value maximum = reference.getFalseValue();
  bool matches = isNone && isNone.getPredicate() == arith::CmpFPredicate::OEQ &&
                 isNone.getLhs() == maximum &&
                 matchPattern(isNone.getRhs(), m_NegInfFloat()) &&
                 matchPattern(reference.getTrueValue(), m_PosZeroFloat());
  return matches ? maximum : Value();
}

bool SoftmaxStep::matchState() {
  auto state = ranges.getRegionIterArgs();
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  product = yield->getOperand(0).getDefiningOp<fagpu::ProductOp>();
  maximum = yield->getOperand(1).getDefiningOp<arith::MaxNumFOp>();
  sum = yield->getOperand(2).getDefiningOp<math::FmaOp>();
  if (!product || !product.getAcc() || !maximum || !sum)
    return false;
  rescaled = product.getAcc().getDefiningOp<arith::MulFOp>();
  blockMaximum = maximum.getRhs().getDefiningOp<fagpu::ReduceOp>();
  alpha = sum.getB().getDefiningOp<math::ExpOp>();
  blockSum = sum.getC().getDefiningOp<fagpu::ReduceOp>();
  return rescaled && alpha && maximum.getLhs() == state[1] &&
         rescaled.getLhs() == state[0] && sum.getA() == state[2] &&
         getBroadcastRows(rescaled.getRhs()) == alpha.getResult() &&
         isReduction(blockMaximum, fagpu::ReductionKind::max) &&
         isReduction(blockSum, fagpu::ReductionKind::add) &&
         state[0].hasOneUse() && state[1].hasNUses(2) && state[2].hasOneUse();
}

bool SoftmaxStep::matchWeights() {
  hidden = blockMaximum.getSource();
  weights = blockSum.getSource().getDefiningOp<math::ExpOp>();
  auto before = alpha.getOperand().getDefiningOp<arith::SubFOp>();
  auto shifted = weights ? weights.getOperand().getDefiningOp<arith::SubFOp>()
                         : arith::SubFOp();
  if (!before || !shifted)
    return false;
  reference = before.getRhs().getDefiningOp<arith::SelectOp>();
  Value multiplied = product.getA();
  // Weights are summed up without dropout.
  if (auto kept = multiplied.getDefiningOp<arith::SelectOp>())
    multiplied = kept.getTrueValue();
  if (auto rounded = multiplied.getDefiningOp<arith::TruncFOp>())
    multiplied = rounded.getIn();
  if (auto dropped = multiplied.getDefiningOp<arith::MulFOp>())
    multiplied = dropped.getLhs();
  return reference && findMaximum(reference) == maximum.getResult() &&
         maximum.getResult().hasNUses(3) &&
         before.getLhs() == ranges.getRegionIterArgs()[1] &&
         shifted.getLhs() == hidden &&
         getBroadcastRows(shifted.getRhs()) == reference.getResult() &&
         reference.getResult().hasNUses(2) &&
         multiplied == weights.getResult() && weights.getResult().hasNUses(2);
}

bool SoftmaxStep::matchScores() {
  scores = findScores(hidden);
  // What hides, and the maximum and the weights, are all that read scores.
  return scores && hidden.hasNUses(2) &&
         ranges.getBodyRegion().isAncestor(scores.getParentRegion()) &&
         llvm::all_of(scores.getUsers(), [&](Operation *user) {
           return isa<arith::SelectOp, scf::YieldOp>(user) ||
                  (scores == hidden &&
                   (user == blockMaximum || isa<arith::SubFOp>(user)));
         });
}

bool SoftmaxStep::matchLse() {
  for (Operation *user : ranges.getResult(1).getUsers()) {
    auto add = dyn_cast<arith::AddFOp>(user);
    if (add && add.getLhs() == ranges.getResult(1) &&
        add.getRhs().getDefiningOp<math::LogOp>())
      lse.push_back(add);
    else if (isa<arith::MaximumFOp, arith::SubFOp>(user))
      hasSink = true;
    else
      return false;
  }
  return true;
}

std::optional<SoftmaxStep> SoftmaxStep::match(KeyRangesOp ranges) {
  SoftmaxStep step(ranges);
  if (ranges.getNumResults() != 3 || !step.matchState() ||
      !step.matchWeights() || !step.matchScores() || !step.matchLse())
    return std::nullopt;
  return step;
}

std::optional<ScaledBlock> SoftmaxStep::matchMovableFactor() const {
  std::optional<ScaledBlock> scaled = matchScaled(scores);
  bool isMovable = scaled && scaled->mayReorder() &&
                   scaled->isFactorOutside(ranges) &&
                   scaled->isFactorNonNegative();
  return isMovable ? scaled : std::nullopt;
}

/// A constant factor times log2(e). A default scale was rounded, and is not
/// here.
static double toBase2(arith::MulFOp product, FloatAttr factor) {
  constexpr double log2e = llvm::numbers::log2e;
  auto rounded = static_cast<float>(factor.getValueAsDouble());
  float headDim = std::round(1.0f / (rounded * rounded));
  if (product->hasAttr(FADialect::defaultScaleAttrName) &&
      1.0f / std::sqrt(headDim) == rounded)
    return log2e / std::sqrt(static_cast<double>(headDim));
  return log2e * rounded;
}

Value mlir::fa::makeBase2Factor(OpBuilder &builder, Location loc,
                                const std::optional<ScaledBlock> &movable) {
  Value log2e = makeNumber(builder, loc, llvm::numbers::log2e);
  if (!movable)
    return log2e;
  if (auto known = dyn_cast<Attribute>(movable->factor))
    if (double base2 = toBase2(movable->product, cast<FloatAttr>(known));
        base2 > 0.0)
      return makeNumber(builder, loc, base2);
  Value least = makeNumber(builder, loc, std::numeric_limits<float>::min());
  Value positive = arith::MaximumFOp::create(
      builder, loc, movable->makeFactor(builder, loc), least);
  return arith::MulFOp::create(builder, loc, positive, log2e);
}

/// The logarithm in an lse, to base 2.
static Value makeLog2(OpBuilder &builder, arith::AddFOp lse) {
  return math::Log2Op::create(
      builder, lse.getLoc(),
      lse.getRhs().getDefiningOp<math::LogOp>().getOperand(),
      arith::FastMathFlags::afn);
}

void mlir::fa::takeLogarithmToBase2(const SoftmaxStep &step) {
  for (arith::AddFOp lse : step.lse) {
    OpBuilder builder(lse);
    Value ln2 = Blocks(builder, lse.getLoc())
                    .constant(llvm::numbers::ln2f, lse.getType());
    lse.replaceAllUsesWith(math::FmaOp::create(builder, lse.getLoc(),
                                               makeLog2(builder, lse), ln2,
                                               lse.getLhs())
                               .getResult());
  }
}

void mlir::fa::takeLseToBase2(const SoftmaxStep &step, Value factor) {
  for (arith::AddFOp lse : step.lse) {
    Location loc = lse.getLoc();
    OpBuilder builder(lse);
    Blocks blocks(builder, loc);
    Value logarithm = makeLog2(builder, lse);
    Value base2 =
        math::FmaOp::create(builder, loc, lse.getLhs(),
                            blocks.splat(factor, lse.getType()), logarithm);
    lse.replaceAllUsesWith(
        arith::MulFOp::create(
            builder, loc, base2,
            blocks.constant(llvm::numbers::ln2f, lse.getType()))
            .getResult());
  }
  if (!step.hasSink)
    return;
  KeyRangesOp ranges = step.ranges;
  Value maximum = ranges.getResult(1);
  Location loc = maximum.getLoc();
  OpBuilder builder(ranges);
  builder.setInsertionPointAfter(ranges);
  // A sink is a number of the scores.
  Value natural = arith::MulFOp::create(
      builder, loc, factor, makeNumber(builder, loc, llvm::numbers::ln2));
  auto score = arith::MulFOp::create(
      builder, loc, maximum,
      Blocks(builder, loc).splat(natural, maximum.getType()));
  maximum.replaceUsesWithIf(score, [&](OpOperand &use) {
    return use.getOwner() != score &&
           isa<arith::MaximumFOp, arith::SubFOp>(use.getOwner());
  });
}

void mlir::fa::rewriteSteps(
    func::FuncOp kernel, StringRef pass, StringRef done,
    llvm::function_ref<std::string(KeyRangesOp)> rewrite) {
  if (!fagpu::isKernel(kernel))
    return;
  SmallVector<KeyRangesOp> loops;
  kernel.walk([&](KeyRangesOp ranges) {
    if (!ranges.getBodyRegion().getOps<fagpu::ProductOp>().empty())
      loops.push_back(ranges);
  });
  auto options = remark::RemarkOpts::name("Rewrite").category(pass);
  bool changed = false;
  for (KeyRangesOp ranges : loops) {
    std::string obstacle = rewrite(ranges);
    if (!obstacle.empty()) {
      remark::missed(ranges.getLoc(), options) << obstacle;
      continue;
    }
    remark::passed(ranges.getLoc(), options) << done;
    changed = true;
  }
  if (!changed)
    return;
  IRRewriter rewriter(kernel.getContext());
  (void)runRegionDCE(rewriter, kernel->getRegions());
}
