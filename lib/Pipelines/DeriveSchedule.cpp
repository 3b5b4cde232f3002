//===- DeriveSchedule.cpp - The schedule of one function ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/DeriveSchedule.h"

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FA/IR/FASequence.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "fa/Pipelines/SchedulePipeline.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;

bool mlir::fa::isProblem(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<AttentionLikeOpInterface, AppendOp, SequenceErrorsOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult checkResults(func::FuncOp function) {
  for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return function.emitError("'")
             << function.getName() << "' result " << number << " has type "
             << type << ", but a GPU schedule gives back ranked tensors only";
  return success();
}

/// Leaves what `function` needs: other functions may have no schedule.
static LogicalResult isolate(ModuleOp module, func::FuncOp function) {
  // What a copy implements is not derived beside it.
  function->removeAttr(FADialect::implementsAttrName);
  for (auto other : module.getOps<func::FuncOp>())
    if (other != function)
      other.setPrivate();
  function.setPublic();
  PassManager manager(module.getContext());
  manager.addPass(createSymbolDCEPass());
  manager.addPass(createFATruncateIndices());
  // A transpose of an operand is an order of its dimensions, not a copy.
  manager.addPass(createCanonicalizerPass());
  // Those beside attention have no form on memory.
  buildExpandAppliesPipeline(manager, /*drawsInBlocks=*/true);
  manager.addPass(createFAResultsToOutParameters());
  return manager.run(module);
}

static bool launchesKernel(func::FuncOp function) {
  return function.walk([](fagpu::LaunchOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The lowering refuses these too, without their places in the text.
static LogicalResult checkFunctions(func::FuncOp problem) {
  auto attentions = problem.walk([](AttentionLikeOpInterface attention) {
    return attention->walk([](Operation *op) {
      if (fagpu::isExpressedOnDevice(op))
        return WalkResult::advance();
      fagpu::emitNotOnDevice(op);
      return WalkResult::interrupt();
    });
  });
  return failure(attentions.wasInterrupted());
}

/// Arithmetic that the lowering refuses whatever happens before it.
static LogicalResult checkArithmetic(ModuleOp module) {
  auto operations = module.walk([](Operation *op) {
    bool computes =
        isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
    return computes && failed(fagpu::verifyBlockOperation(op))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(operations.wasInterrupted());
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::fa::deriveSchedule(func::FuncOp problem, StringRef chip, bool peepholes) {
  StringRef name = problem.getName();
  if (!lookupGPUTarget(chip))
    return problem.emitError("'") << name << "' is to run on '" << chip
                                  << "', expected one of " << listGPUTargets();
  if (failed(checkResults(problem)))
    return failure();
  OwningOpRef<ModuleOp> module = problem->getParentOfType<ModuleOp>().clone();
  if (failed(isolate(*module, module->lookupSymbol<func::FuncOp>(name))))
    return failure();
  if (failed(checkFunctions(module->lookupSymbol<func::FuncOp>(name))))
    return failure();
  OwningOpRef<func::FuncOp> reference =
      module->lookupSymbol<func::FuncOp>(name).clone();

  ScheduleOptions options;
  options.chip = chip.str();
  options.peepholes = peepholes;
  PassManager manager(module->getContext());
  // A hundred passes on little IR: to verify after each takes as long as they
  // do. fa-opt verifies after each of the same.
  manager.enableVerifier(false);
  buildFAToSchedulePipeline(manager, options);
  if (failed(manager.run(*module)) || failed(verify(*module)) ||
      failed(checkArithmetic(*module)))
    return failure();
  auto host = module->lookupSymbol<func::FuncOp>(name);
  if (!launchesKernel(host))
    return problem.emitError("'") << name << "' has no work for a kernel";

  reference->setName((name + "_problem").str());
  reference->setPrivate();
  StringAttr inserted = SymbolTable(*module).insert(reference.release());
  host->setAttr(FADialect::implementsAttrName,
                FlatSymbolRefAttr::get(inserted));
  return module;
}
