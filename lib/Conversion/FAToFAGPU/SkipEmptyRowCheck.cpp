//===- SkipEmptyRowCheck.cpp - Rows without a key in partial blocks -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxStep.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSKIPEMPTYROWCHECKPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// What takes the place of the maximum where that is -inf.
static arith::SelectOp findReference(Value maximum) {
  for (Operation *user : maximum.getUsers())
    if (auto select = dyn_cast<arith::SelectOp>(user))
      if (findMaximum(select) == maximum)
        return select;
  return {};
}

static std::string limitToPartial(KeyRangesOp ranges) {
  if (ranges.getNumResults() != 3)
    return noStep.str();
  Operation *yield = ranges.getBodyRegion().front().getTerminator();
  auto maximum = yield->getOperand(1).getDefiningOp<arith::MaxNumFOp>();
  if (!maximum)
    return "there is no running maximum";
  arith::SelectOp reference = findReference(maximum);
  auto block = maximum.getRhs().getDefiningOp<fagpu::ReduceOp>();
  if (!reference || reference->getBlock() != maximum->getBlock() ||
      !reference.getCondition().hasOneUse() ||
      !isReduction(block, fagpu::ReductionKind::max))
    return noStep.str();
  Value scores = findScores(block.getSource());
  if (!scores || !arePlain(scores))
    return "scores that are not products alone may be -inf in full blocks";
  Location loc = ranges.getLoc();
  OpBuilder builder(reference);
  Value partial = IsPartialOp::create(builder, loc, builder.getI1Type());
  auto branch = scf::IfOp::create(builder, loc, TypeRange{maximum.getType()},
                                  partial, /*withElseRegion=*/true);
  reference.replaceAllUsesWith(branch.getResult(0));
  OpBuilder masked = branch.getThenBodyBuilder();
  auto kept = scf::YieldOp::create(masked, loc, reference.getResult());
  reference.getCondition().getDefiningOp()->moveBefore(kept);
  reference->moveBefore(kept);
  OpBuilder unmasked = branch.getElseBodyBuilder();
  scf::YieldOp::create(unmasked, loc, maximum.getResult());
  return "";
}

namespace {
struct SkipEmptyRowCheckPass
    : public fa::impl::FAGPUSkipEmptyRowCheckPassBase<SkipEmptyRowCheckPass> {
  void runOnOperation() override {
    rewriteSteps(getOperation(), getArgument(),
                 "full blocks have a key in each row", limitToPartial);
  }
};
} // namespace
