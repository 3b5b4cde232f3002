//===- OverlapLaunches.cpp - Launches that wait on the device -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programmatic dependent launches: a kernel's blocks start while the last ones
// of the kernel ahead run, and wait there. Read `OverlapLaunchesPass`, then
// `getSteps`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUOVERLAPLAUNCHESPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
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

/// The kernel of a launch; null for one of another chip.
static func::FuncOp getKernel(LaunchOp launch, SymbolTable &symbols) {
  auto kernel = symbols.lookup<func::FuncOp>(launch.getKernelAttr().getAttr());
  if (!kernel || kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
                         .getValue() != "sm_90a")
    return {};
  return kernel;
}

/// Whether one of two conditions holds, and never both.
static bool areOpposite(Value a, Value b) {
  auto isNot = [](Value negated, Value of) {
    auto op = negated.getDefiningOp<arith::XOrIOp>();
    return op && op.getLhs() == of && matchPattern(op.getRhs(), m_One());
  };
  auto first = a.getDefiningOp<arith::CmpIOp>(),
       second = b.getDefiningOp<arith::CmpIOp>();
  return isNot(a, b) || isNot(b, a) ||
         (first && second && first.getLhs() == second.getLhs() &&
          first.getRhs() == second.getRhs() &&
          first.getPredicate() ==
              arith::invertPredicate(second.getPredicate()));
}

namespace {
/// A launch that always runs, or two of which one does.
struct Step {
  SmallVector<LaunchOp, 2> launches;
  SmallVector<func::FuncOp, 2> kernels;
};
} // namespace

/// The launches of a block in steps; one that may not run, and has no other for
/// this, is a step without kernels, and so is one of another chip.
static SmallVector<Step> getSteps(Block &block, SymbolTable &symbols) {
  SmallVector<Step> steps;
  auto launches = llvm::to_vector(block.getOps<LaunchOp>());
  for (size_t i = 0; i < launches.size(); ++i) {
    Step &step = steps.emplace_back();
    step.launches.push_back(launches[i]);
    if (Value condition = launches[i].getCondition()) {
      Value other =
          i + 1 < launches.size() ? launches[i + 1].getCondition() : Value();
      if (!other || !areOpposite(condition, other))
        continue;
      step.launches.push_back(launches[++i]);
    }
    for (LaunchOp launch : step.launches)
      step.kernels.push_back(getKernel(launch, symbols));
    if (llvm::is_contained(step.kernels, func::FuncOp()))
      step.kernels.clear();
  }
  return steps;
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
    : public fagpu::impl::FAGPUOverlapLaunchesPassBase<OverlapLaunchesPass> {
  /// Launches one behind the other, with those around them that add to memory.
  void overlap(Block &block, SymbolTable &symbols) {
    SmallVector<Step> steps = getSteps(block, symbols);
    for (size_t next = 1; next < steps.size(); ++next) {
      ArrayRef<func::FuncOp> before = steps[next - 1].kernels,
                             kernels = steps[next].kernels;
      if (before.empty() || kernels.empty() ||
          llvm::any_of(kernels, [&](func::FuncOp kernel) {
            return llvm::is_contained(before, kernel);
          }))
        continue;
      if (llvm::none_of(before, addsToMemory) &&
          llvm::none_of(kernels, addsToMemory))
        continue;
      llvm::for_each(before, releaseDependents);
      llvm::for_each(kernels, awaitPrevious);
      for (LaunchOp launch : steps[next].launches)
        launch.setDependent(true);
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
