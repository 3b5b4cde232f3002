//===- OverlapLaunches.cpp - Launches that wait on the device -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programmatic dependent launches: a kernel's blocks start while the last ones
// of the kernel ahead run, and wait there. Read `OverlapLaunchesPass`.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUOVERLAPLAUNCHESPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

template <typename OpTy> static bool holds(func::FuncOp kernel) {
  return kernel.walk([](OpTy) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static bool addsToMemory(func::FuncOp kernel) {
  return kernel
      .walk([](StoreOp store) {
        return store.getAdd() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The kernel of a launch that always runs; null for one that may not, or of
/// another chip.
static func::FuncOp getKernel(LaunchOp launch, SymbolTable &symbols) {
  auto kernel = symbols.lookup<func::FuncOp>(launch.getKernelAttr().getAttr());
  if (!kernel || launch.getCondition() ||
      kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
              .getValue() != "sm_90a")
    return {};
  return kernel;
}

/// Threads that have done their loops let the next kernel come; those of a
/// kernel without loops at once. One that takes several tiles ends for all.
static void releaseDependents(func::FuncOp kernel) {
  if (holds<ReleaseDependentsOp>(kernel) || holds<RepeatOp>(kernel))
    return;
  OpBuilder builder(*kernel.getOps<RoleOp>().begin());
  for (RoleOp role : kernel.getOps<RoleOp>())
    for (auto loop : role.getBody().getOps<ForOp>())
      if (!role.getElect())
        builder.setInsertionPointAfter(loop);
  ReleaseDependentsOp::create(builder, kernel.getLoc());
}

static void awaitPrevious(func::FuncOp kernel) {
  if (holds<AwaitPreviousOp>(kernel))
    return;
  // Ahead of all that reads memory: the lengths of a batch, too.
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  AwaitPreviousOp::create(builder, kernel.getLoc());
}

namespace {
struct OverlapLaunchesPass
    : public fa::impl::FAGPUOverlapLaunchesPassBase<OverlapLaunchesPass> {
  /// Launches one behind the other, with those around them that add to memory.
  void overlap(Block &block, SymbolTable &symbols) {
    SmallVector<func::FuncOp> kernels;
    auto launches = llvm::to_vector(block.getOps<LaunchOp>());
    for (LaunchOp launch : launches)
      kernels.push_back(getKernel(launch, symbols));
    for (size_t next = 1; next < launches.size(); ++next) {
      func::FuncOp before = kernels[next - 1], kernel = kernels[next];
      if (!before || !kernel || before == kernel ||
          (!addsToMemory(before) && !addsToMemory(kernel)))
        continue;
      releaseDependents(before);
      awaitPrevious(kernel);
      launches[next].setDependent(true);
    }
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && !isKernel(function))
        overlap(function.getBody().front(), symbols);
  }
};
} // namespace
