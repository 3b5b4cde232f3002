//===- Pipeline.cpp - Overlap iterations of the loops of a kernel ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUPIPELINEPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {
struct PipelinePass : public fagpu::impl::FAGPUPipelinePassBase<PipelinePass> {
  void runOnOperation() override {
    SmallVector<Operation *> innermostFirst;
    getOperation()->walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<ForOp, RepeatOp>(op))
        innermostFirst.push_back(op);
    });
    for (Operation *op : innermostFirst) {
      auto loop = dyn_cast<ForOp>(op);
      if (failed(loop ? pipelineLoop(loop) : pipelineLoop(cast<RepeatOp>(op))))
        return signalPassFailure();
    }
  }
};
} // namespace
