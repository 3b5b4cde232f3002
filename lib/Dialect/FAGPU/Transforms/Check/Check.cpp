//===- Check.cpp - Check the rules of a GPU schedule ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "../IterationCloner.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUCHECKPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

static bool isScheduledLoop(Operation *op) {
  return isa_and_nonnull<ForOp, RepeatOp>(op) &&
         isScheduled(&op->getRegion(0).front());
}

std::optional<Slot> mlir::fagpu::getEffectiveSlot(Operation *op) {
  while (op && !isScheduledLoop(op->getParentOp()))
    op = op->getParentOp();
  for (; op; op = op->getPrevNode())
    if (std::optional<Slot> slot = getSlot(op))
      return slot;
  return std::nullopt;
}

Operation *mlir::fagpu::getScheduledNest(Operation *op) {
  Operation *nest = nullptr;
  for (; op && !isa<RoleOp>(op); op = op->getParentOp())
    if (isScheduledLoop(op))
      nest = op;
  return nest;
}

/// Whether loops of the kernel are still to be pipelined.
static bool hasSlots(func::FuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isScheduledLoop(op) ? WalkResult::interrupt()
                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct CheckPass : public fagpu::impl::FAGPUCheckPassBase<CheckPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel))
      return;
    for (auto *check : {checkLayouts, checkUniformity, checkEnds, checkOrder,
                        checkTurns, checkViews})
      if (failed(check(kernel)))
        return signalPassFailure();
    if (!hasSlots(kernel) &&
        (failed(checkProtocol(kernel)) || failed(checkRegisters(kernel))))
      return signalPassFailure();
    if (failed(verifyHasLowering(kernel)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
