//===- SinkWaits.cpp - Work beside asynchronous products ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSINKWAITSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// A wait with what is behind it and needs it.
struct Awaited {
  explicit Awaited(WaitOp wait) { ops.insert(wait); }

  /// Whether an operation that needs none of them may run before them: it
  /// computes, reads memory that none of them writes, or fills a stage that
  /// none of them fills or releases.
  bool mayPass(Operation *op) const {
    if (auto write = dyn_cast<WriteOp>(op))
      return !channels.contains(write.getChannel());
    return isMemoryEffectFree(op) || (isa<GatherOp>(op) && !hasStores);
  }
  /// Branches stay behind the wait.
  bool needs(Operation *op) const {
    return isa<ReleaseOp>(op) || op->getNumRegions() ||
           llvm::any_of(op->getOperands(), [&](Value operand) {
             Operation *source = operand.getDefiningOp();
             return source && ops.contains(source);
           });
  }
  void add(Operation *op) {
    ops.insert(op);
    op->walk([&](Operation *nested) {
      if (auto write = dyn_cast<WriteOp>(nested)) {
        channels.insert(write.getChannel());
        return;
      }
      auto release = dyn_cast<ReleaseOp>(nested);
      if (!release) {
        hasStores |= !nested->getNumRegions() && !isa<GatherOp>(nested) &&
                     !isMemoryEffectFree(nested);
        return;
      }
      if (auto acquire = release.getView().getDefiningOp<AcquireOp>())
        channels.insert(acquire.getChannel());
    });
  }

  SetVector<Operation *> ops;
  llvm::SmallPtrSet<Value, 8> channels;
  bool hasStores = false;
};
} // namespace

/// Whether an operation, or one in its loops and branches, acquires a stage or
/// issues or awaits a product.
static bool usesStage(Operation *op) {
  return op
      ->walk([](Operation *nested) {
        return isa<AcquireOp, MmaAsyncOp, WaitOp>(nested)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Operations behind a wait that may run before it, up to the next use of a
/// stage. What is loaded for later comes last: a thread that waits for what it
/// loaded before would wait for that too.
static SmallVector<Operation *> collect(WaitOp wait) {
  Awaited awaited(wait);
  SmallVector<Operation *> moved;
  llvm::SmallSetVector<Operation *, 4> loads;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>() || usesStage(op))
      break;
    if (awaited.needs(op)) {
      awaited.add(op);
      continue;
    }
    if (!awaited.mayPass(op))
      break;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); loads.remove(source))
        moved.push_back(source);
    if (isa<GatherOp>(op))
      loads.insert(op);
    else
      moved.push_back(op);
  }
  llvm::append_range(moved, loads);
  return moved;
}

/// The assembler is kept from moving what runs beside the products to before
/// they are issued.
static void sink(WaitOp wait) {
  SmallVector<Operation *> moved = collect(wait);
  auto issued = wait.getInflight().getDefiningOp<MmaAsyncOp>();
  if (!issued || llvm::none_of(moved, llvm::IsaPred<WriteOp>))
    return;
  OpBuilder builder(wait);
  ScheduleBarrierOp::create(builder, wait.getLoc());
  for (Operation *op : moved)
    op->moveBefore(wait);
}

namespace {
struct SinkWaitsPass : public fa::impl::FAGPUSinkWaitsPassBase<SinkWaitsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel) ||
        getGPUPart(kernel).hasOverlap())
      return;
    SmallVector<WaitOp> waits;
    kernel.walk([&](WaitOp wait) { waits.push_back(wait); });
    llvm::for_each(waits, sink);
  }
};
} // namespace
