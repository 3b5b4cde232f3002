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
  OpBuilder builder(ranges);
  before.setType(partType);
  ranges.getInitsMutable()[2].set(
      Blocks(builder, loc).constant(0.0f, partType));
  OpResult result = ranges->getResult(2);
  result.setType(partType);
  builder.setInsertionPointAfter(ranges);
  auto whole = fagpu::ReduceOp::create(builder, loc, rowType,
                                       fagpu::ReductionKind::add, result);
  result.replaceAllUsesExcept(whole, whole);
  block.getResult().setType(partType);
  block.setChains(countChains(ranges, block, role));
  builder.setInsertionPoint(sum);
  if (auto fma = dyn_cast<math::FmaOp>(sum))
    fma->setOperand(1, Blocks(builder, loc).broadcast(fma.getB(), partType));
  sum->getResult(0).setType(partType);
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
