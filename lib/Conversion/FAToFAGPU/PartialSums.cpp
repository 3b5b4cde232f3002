//===- PartialSums.cpp - Sums of rows that stay with their threads --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxStep.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUPARTIALSUMSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Two chains for a row take as many registers again as the sums; of the 255
/// of a thread, what else is live needs about 90.
static int64_t countChains(KeyRangesOp ranges, fagpu::ReduceOp sum,
                           fagpu::RoleOp role) {
  int64_t elements = 0;
  for (Value block : {Value(sum.getSource()), Value(ranges.getResult(0))})
    if (auto type = dyn_cast<RankedTensorType>(block.getType()))
      elements += type.getNumElements();
  int64_t registers = elements / (32 * role.getWarps());
  return registers > 255 - 90 ? 1 : 2;
}

/// The sum of a block's weights that a loop adds to the sum so far, perhaps
/// rescaled by a vector of rows; null where it does not.
static fagpu::ReduceOp matchSum(Operation *sum, Value before) {
  if (!isa_and_nonnull<math::FmaOp, arith::AddFOp>(sum) ||
      sum->getOperand(0) != before || !before.hasOneUse())
    return {};
  auto block = sum->getOperands().back().getDefiningOp<fagpu::ReduceOp>();
  bool matches = isReduction(block, fagpu::ReductionKind::add) &&
                 block.getResult().hasOneUse() &&
                 cast<RankedTensorType>(before.getType()).getRank() == 1;
  return matches ? block : fagpu::ReduceOp();
}

/// The largest number of a block's rows that a loop finds with those before,
/// where nothing else reads them; null where it does not.
static fagpu::ReduceOp matchMaximum(KeyRangesOp ranges) {
  Value before = ranges.getRegionIterArgs()[1];
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  auto maximum = yield->getOperand(1).getDefiningOp<arith::MaxNumFOp>();
  if (!maximum || maximum.getLhs() != before || !before.hasOneUse() ||
      !maximum.getResult().hasOneUse())
    return {};
  auto block = maximum.getRhs().getDefiningOp<fagpu::ReduceOp>();
  bool matches = isReduction(block, fagpu::ReductionKind::max) &&
                 block.getResult().hasOneUse() &&
                 matchPattern(ranges.getInits()[1], m_AnyZeroFloat());
  return matches ? block : fagpu::ReduceOp();
}

/// Makes one state of the loop a number of each thread, which `kind` takes to
/// one of the row behind it. `block` is of the same rows.
static void carryParts(KeyRangesOp ranges, unsigned state,
                       fagpu::ReductionKind kind, fagpu::ReduceOp block,
                       RankedTensorType partType) {
  Location loc = ranges.getLoc();
  OpBuilder builder(ranges);
  Type rowType = ranges.getRegionIterArgs()[state].getType();
  ranges.getRegionIterArgs()[state].setType(partType);
  ranges.getInitsMutable()[state].set(
      Blocks(builder, loc).constant(0.0f, partType));
  OpResult result = ranges->getResult(state);
  result.setType(partType);
  builder.setInsertionPointAfter(ranges);
  auto whole = fagpu::ReduceOp::create(builder, loc, rowType, kind, result);
  result.replaceAllUsesExcept(whole, whole);
  block.getResult().setType(partType);
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  yield->getOperand(state).setType(partType);
}

static std::string carryPartialSums(KeyRangesOp ranges) {
  auto role = ranges->getParentOfType<fagpu::RoleOp>();
  if (ranges.getNumResults() != 3 || !role)
    return noStep.str();
  Value before = ranges.getRegionIterArgs()[2];
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  Operation *sum = yield->getOperand(2).getDefiningOp();
  fagpu::ReduceOp block = matchSum(sum, before);
  if (!block || !sum->hasOneUse() ||
      !matchPattern(ranges.getInits()[2], m_AnyZeroFloat()))
    return "the loop carries no sum of rows that begins at 0";
  Location loc = ranges.getLoc();
  auto rowType = cast<RankedTensorType>(before.getType());
  auto partType = RankedTensorType::get({rowType.getDimSize(0), 4},
                                        rowType.getElementType());
  carryParts(ranges, 2, fagpu::ReductionKind::add, block, partType);
  block.setChains(countChains(ranges, block, role));
  OpBuilder builder(sum);
  if (auto fma = dyn_cast<math::FmaOp>(sum))
    fma->setOperand(1, Blocks(builder, loc).broadcast(fma.getB(), partType));
  if (fagpu::ReduceOp largest = matchMaximum(ranges))
    carryParts(ranges, 1, fagpu::ReductionKind::max, largest, partType);
  return "";
}

namespace {
struct PartialSumsPass
    : public fa::impl::FAGPUPartialSumsPassBase<PartialSumsPass> {
  void runOnOperation() override {
    rewriteSteps(getOperation(), getArgument(),
                 "each thread carries sums of its own", carryPartialSums);
  }
};
} // namespace
