//===- ExpandTanh.cpp - Bounded tanh of scores for 16-bit products --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces cap * tanh(x / cap) on scores by cap - 2 cap / (exp(2x) + 1),
// where the results are rounded to 16 bits anyway; several elements of a row
// then share one reciprocal. Read `TanhExpander::run`, then `expand`; `clean`
// keeps masked scores from spoiling others.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "RealRange.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUEXPANDTANHPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// The largest cap: its product with the error, 1e-6, stays below 1e-4.
static constexpr float largestCap = 80.0f;

/// The number that all elements of a block are; null if there is none.
static Value getSplat(OpBuilder &builder, Value block) {
  if (auto splat = block.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  DenseElementsAttr constant;
  if (!matchPattern(block, m_Constant(&constant)) || !constant.isSplat())
    return {};
  return arith::ConstantOp::create(builder, block.getLoc(),
                                   constant.getSplatValue<FloatAttr>());
}

/// Where scores are hidden, and nothing but this reads them: a selection in a
/// branch for partial blocks, whose other side takes them as they are.
static arith::SelectOp findHiding(Value scores) {
  arith::SelectOp hiding;
  for (Operation *user : scores.getUsers())
    if (auto select = dyn_cast<arith::SelectOp>(user))
      hiding = hiding ? arith::SelectOp() : select;
  if (!hiding || hiding.getTrueValue() != scores)
    return {};
  auto branch = dyn_cast<scf::IfOp>(hiding->getParentOp());
  bool isAlone = llvm::all_of(scores.getUsers(), [&](Operation *user) {
    return user == hiding ||
           (isa<scf::YieldOp>(user) && user->getParentOp() == branch);
  });
  return isAlone && branch && branch.getCondition().getDefiningOp<IsPartialOp>()
             ? hiding
             : arith::SelectOp();
}

namespace {
/// Expands one tanh and the product with its cap.
class TanhExpander {
public:
  TanhExpander(math::TanhOp tanh, arith::MulFOp product)
      : tanh(tanh), product(product),
        part(getGPUPart(tanh->getParentOfType<func::FuncOp>())),
        builder(product), loc(tanh.getLoc()) {}
  void run();

private:
  bool findCap();
  void collectFactors();
  void clean();
  Value scalar(float number) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(number));
  }
  Value splat(Value number) {
    return tensor::SplatOp::create(builder, loc, number, tanh.getType());
  }
  Value splat(float number) { return splat(scalar(number)); }
  Value expand();

  math::TanhOp tanh;
  arith::MulFOp product;
  GPUPart part;
  /// Null where hidden scores may reach the product.
  arith::SelectOp hiding;
  OpBuilder builder;
  Location loc;
  Value cap;
  /// The argument of tanh is `block` times some of `factor`.
  Value block, factor;
};
} // namespace

bool TanhExpander::findCap() {
  Value other = product.getLhs() == tanh.getResult() ? product.getRhs()
                                                     : product.getLhs();
  cap = getSplat(builder, other);
  return static_cast<bool>(cap);
}

/// 2 log2(e) x as a block times one number: factors that all elements have are
/// multiplied before.
void TanhExpander::collectFactors() {
  factor = scalar(2.0f * llvm::numbers::log2ef);
  block = tanh.getOperand();
  while (auto scaled = block.getDefiningOp<arith::MulFOp>()) {
    Value rest = scaled.getLhs(), number = getSplat(builder, scaled.getRhs());
    if (!number) {
      rest = scaled.getRhs();
      number = getSplat(builder, scaled.getLhs());
    }
    if (!number)
      break;
    block = rest;
    factor = arith::MulFOp::create(builder, loc, factor, number);
  }
}

/// Hidden scores may be no numbers, which must not reach those that share a
/// reciprocal with them: in partial blocks they become 0 first.
void TanhExpander::clean() {
  auto hides = cast<scf::IfOp>(hiding->getParentOp());
  Value isPartial =
      IsPartialOp::create(builder, loc, builder.getI1Type()).getResult();
  auto choice = scf::IfOp::create(builder, loc, TypeRange{block.getType()},
                                  isPartial, /*withElseRegion=*/true);
  SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.filter = [&](Operation *op) { return op->getParentOp() == hides; };
  options.inclusive = true;
  (void)getBackwardSlice(hiding.getCondition(), &needed, options);
  OpBuilder masked = choice.getThenBodyBuilder();
  IRMapping mapping;
  for (Operation *op : needed)
    masked.clone(*op, mapping);
  builder.setInsertionPointToEnd(choice.thenBlock());
  Value kept = arith::SelectOp::create(
      builder, loc, mapping.lookupOrDefault(hiding.getCondition()), block,
      splat(0.0f));
  scf::YieldOp::create(builder, loc, kept);
  OpBuilder unmasked = choice.getElseBodyBuilder();
  scf::YieldOp::create(unmasked, loc, block);
  builder.setInsertionPointAfter(choice);
  block = choice.getResult(0);
}

/// cap tanh(x) = cap - 2 cap / (exp(2 x) + 1)
Value TanhExpander::expand() {
  Value exponent = arith::MinimumFOp::create(
      builder, loc, arith::MulFOp::create(builder, loc, block, splat(factor)),
      splat(static_cast<float>(largestTanhExponent) /
            static_cast<float>(hiding ? part.tanhSharers : 1)));
  Value power =
      math::Exp2Op::create(builder, loc, exponent, arith::FastMathFlags::afn);
  Value divisor = arith::AddFOp::create(builder, loc, power, splat(1.0f));
  auto reciprocal = arith::DivFOp::create(builder, loc, splat(1.0f), divisor,
                                          arith::FastMathFlags::arcp |
                                              arith::FastMathFlags::afn);
  if (hiding) {
    reciprocal->setAttr(FAGPUDialect::sharersAttrName,
                        builder.getI64IntegerAttr(part.tanhSharers));
    if (part.tanhInterleavesRows)
      reciprocal->setAttr(FAGPUDialect::interleaveRowsAttrName,
                          builder.getUnitAttr());
  }
  Value twice = arith::MulFOp::create(builder, loc, cap, scalar(-2.0f));
  return math::FmaOp::create(builder, loc, reciprocal, splat(twice),
                             splat(cap));
}

void TanhExpander::run() {
  if (!findCap() || !(getRealRange(cap).getSize() <= largestCap))
    return;
  // Where it is not seen what hides the scores, each has its own reciprocal.
  hiding = findHiding(product.getResult());
  if (hiding)
    builder.setInsertionPoint(hiding->getParentOp());
  collectFactors();
  if (hiding)
    clean();
  product.replaceAllUsesWith(expand());
  product.erase();
}

/// Whether the products of the kernel round to 16 bits what comes of scores.
static bool multiplies16Bits(func::FuncOp kernel) {
  WalkResult result = kernel.walk([](ProductOp product) {
    auto type = cast<RankedTensorType>(product.getA().getType());
    return type.getElementTypeBitWidth() == 16 ? WalkResult::advance()
                                               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

namespace {
struct ExpandTanhPass
    : public fa::impl::FAGPUExpandTanhPassBase<ExpandTanhPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !multiplies16Bits(kernel))
      return;
    SmallVector<math::TanhOp> found;
    kernel.walk([&](math::TanhOp tanh) {
      auto flags = tanh.getFastmath();
      if (isa<RankedTensorType>(tanh.getType()) && tanh->hasOneUse() &&
          bitEnumContainsAll(flags, arith::FastMathFlags::arcp) &&
          !bitEnumContainsAny(flags, arith::FastMathFlags::afn))
        found.push_back(tanh);
    });
    for (math::TanhOp tanh : found)
      if (auto product = dyn_cast<arith::MulFOp>(*tanh->user_begin()))
        TanhExpander(tanh, product).run();
  }
};
} // namespace
