//===- OverlapLaunches.cpp - Launches that wait on the device -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programmatic dependent launches: a kernel's blocks start while the last ones
// of the kernel ahead run, and wait there. Which one is ahead may depend on
// conditions. Read `OverlapLaunchesPass`, then `findAhead`.
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

/// What holds where `condition` does: it, and of a conjunction both parts.
static void addFacts(Value condition, SmallVectorImpl<Value> &facts) {
  facts.push_back(condition);
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    addFacts(both.getLhs(), facts);
    addFacts(both.getRhs(), facts);
  }
}

static SmallVector<Value> getFacts(LaunchOp launch) {
  SmallVector<Value> facts;
  if (Value condition = launch.getCondition())
    addFacts(condition, facts);
  return facts;
}

static bool areExclusive(ArrayRef<Value> a, ArrayRef<Value> b) {
  return llvm::any_of(a, [&](Value one) {
    return llvm::any_of(b,
                        [&](Value other) { return areOpposite(one, other); });
  });
}

/// The parts of a condition that do not follow from `facts`.
static void addRest(Value condition, ArrayRef<Value> facts,
                    SmallVectorImpl<Value> &rest) {
  if (!condition || llvm::is_contained(facts, condition))
    return;
  auto both = condition.getDefiningOp<arith::AndIOp>();
  if (!both)
    return rest.push_back(condition);
  addRest(both.getLhs(), facts, rest);
  addRest(both.getRhs(), facts, rest);
}

/// The launches of which one is the last that runs ahead of `launch`; none
/// where `launch` may be the first.
static SmallVector<LaunchOp> findAhead(ArrayRef<LaunchOp> before,
                                       LaunchOp launch) {
  SmallVector<LaunchOp> found;
  // Under these conditions one of those found runs.
  SmallVector<Value> sufficient;
  SmallVector<Value> facts = getFacts(launch);
  for (LaunchOp other : llvm::reverse(before)) {
    if (areExclusive(facts, getFacts(other)))
      continue;
    found.push_back(other);
    SmallVector<Value> rest;
    addRest(other.getCondition(), facts, rest);
    if (rest.empty() || (rest.size() == 1 && areExclusive(rest, sufficient)))
      return found;
    if (rest.size() == 1)
      sufficient.push_back(rest.front());
  }
  return {};
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
  /// Launches one behind the other, with those ahead of them that may add to
  /// memory.
  void overlap(Block &block, SymbolTable &symbols) {
    auto launches = llvm::to_vector(block.getOps<LaunchOp>());
    for (auto [index, launch] : llvm::enumerate(launches)) {
      func::FuncOp kernel = getKernel(launch, symbols);
      SmallVector<func::FuncOp> ahead;
      for (LaunchOp other :
           findAhead(ArrayRef(launches).take_front(index), launch))
        ahead.push_back(getKernel(other, symbols));
      if (!kernel || ahead.empty() || llvm::is_contained(ahead, kernel) ||
          llvm::is_contained(ahead, func::FuncOp()))
        continue;
      if (llvm::none_of(ahead, addsToMemory) && !addsToMemory(kernel))
        continue;
      llvm::for_each(ahead, releaseDependents);
      awaitPrevious(kernel);
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
