//===- AssignWaits.cpp - Products that may stay in flight -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUASSIGNWAITSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

static LogicalResult refuseNestedIssue(WaitOp wait, Operation *between) {
  WalkResult nested = between->walk([&](MmaAsyncOp issue) {
    InFlightDiagnostic diagnostic =
        issue.emitOpError()
        << "is issued inside control flow between another product and its "
           "'fagpu.wait', so how many are in flight there is not known";
    diagnostic.attachNote(wait.getLoc()) << "the wait is here";
    return WalkResult::interrupt();
  });
  return failure(nested.wasInterrupted());
}

static LogicalResult assignPending(WaitOp wait) {
  int32_t pending = 0;
  auto issue = wait.getInflight().getDefiningOp<MmaAsyncOp>();
  if (!issue)
    return wait.emitOpError() << "waits for a value that no "
                                 "'fagpu.mma_async' of its block has made";
  for (Operation *op = issue->getNextNode(); op != wait;
       op = op->getNextNode()) {
    if (op->getNumRegions() && failed(refuseNestedIssue(wait, op)))
      return failure();
    pending += isa<MmaAsyncOp>(op);
  }
  wait.setPending(pending);
  return success();
}

namespace {
struct AssignWaitsPass
    : public fagpu::impl::FAGPUAssignWaitsPassBase<AssignWaitsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk(
        [](WaitOp wait) { return WalkResult(assignPending(wait)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
