//===- InterpreterTarget.cpp - Runs GPU schedules on the CPU --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/InterpreterTarget.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Executor/FASemantics.h"
#include "fa/Pipelines/GPUPipeline.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

FailureOr<OwningOpRef<ModuleOp>> fa::planSchedule(ModuleOp module) {
  OwningOpRef<ModuleOp> planned(module.clone());
  if (llvm::all_of(planned->getOps<func::FuncOp>(), [](func::FuncOp function) {
        return !fagpu::isKernel(function) ||
               function->hasAttr(fagpu::FAGPUDialect::sharedMemoryAttrName);
      }))
    return planned;
  PassManager manager(module.getContext());
  buildFAGPUPlanPipeline(manager);
  if (failed(manager.run(*planned)))
    return failure();
  return planned;
}

/// Puts in the layouts that a text leaves out. Those of a function that kernels
/// share depend on the kernel, so calls are inlined before.
static LogicalResult addLayouts(ModuleOp module) {
  WalkResult complete = module.walk([](fagpu::RoleOp role) {
    return fagpu::hasLayouts(role) ? WalkResult::advance()
                                   : WalkResult::interrupt();
  });
  if (!complete.wasInterrupted())
    return success();
  PassManager manager(module.getContext());
  manager.addPass(createInlinerPass());
  manager.addNestedPass<func::FuncOp>(fagpu::createFAGPUInferLayoutsPass());
  return manager.run(module);
}

LogicalResult fa::interpret(func::FuncOp function,
                            const InterpreterOptions &options,
                            std::optional<std::array<int64_t, 3>> grid,
                            SmallVector<RuntimeValue> &arguments,
                            SmallVector<RuntimeValue> &results) {
  if (failed(addLayouts(function->getParentOfType<ModuleOp>())))
    return failure();
  Interpreter interpreter(options);
  Semantics semantics;
  addUpstreamSemantics(semantics);
  addFASemantics(semantics);
  interpreter.addSemantics(semantics);
  Executor executor(function->getParentOfType<ModuleOp>(), semantics,
                    getDeclaredPolicy());
  if (grid)
    return interpreter.runKernel(executor, function, *grid, arguments);
  auto values = executor.run(function, arguments);
  if (failed(values))
    return failure();
  results = std::move(*values);
  return success();
}

static void copyBack(HostBuffer &buffer, const RuntimeValue &value) {
  if (value.object)
    buffer.fromRuntime(value);
  else
    buffer.set(0, value.slot);
}

LogicalResult fa::interpret(func::FuncOp function,
                            const InterpreterOptions &options,
                            std::optional<std::array<int64_t, 3>> grid,
                            MutableArrayRef<HostBuffer> arguments,
                            MutableArrayRef<HostBuffer> results) {
  SmallVector<RuntimeValue> values, returned;
  for (auto [type, buffer] :
       llvm::zip_equal(function.getArgumentTypes(), arguments))
    values.push_back(isa<ShapedType>(type) ? buffer.toRuntime()
                                           : RuntimeValue(buffer.get(0)));
  if (failed(interpret(function, options, grid, values, returned)))
    return failure();
  for (auto [buffer, value] : llvm::zip_equal(arguments, values))
    if (value.object)
      buffer.fromRuntime(value);
  for (auto [buffer, value] : llvm::zip(results, returned))
    copyBack(buffer, value);
  return success();
}
