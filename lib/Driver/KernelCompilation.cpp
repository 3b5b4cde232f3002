//===- KernelCompilation.cpp - From a module to a kernel ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/KernelCompilation.h"
#include "fa/Driver/Derivation.h"
#include "fa/Pipelines/DeriveSchedule.h"

using namespace mlir;
using namespace mlir::fa;

FailureOr<CompiledKernel> fa::compileKernel(
    ModuleOp module,
    llvm::function_ref<FailureOr<SmallVector<std::string>>(func::FuncOp)>
        getNames,
    const KernelRequest &request) {
  FailureOr<func::FuncOp> host = findCompiledFunction(module, request.entry);
  if (failed(host))
    return failure();
  FailureOr<SmallVector<std::string>> arguments = getNames(*host);
  if (failed(arguments))
    return failure();
  CompiledKernel compiled;
  // A problem is turned into a host function and its kernel first.
  DerivedSchedule derived;
  if (isProblem(*host)) {
    *arguments = addResultNames(*host, std::move(*arguments));
    auto schedule =
        derive(*host, request.options.chip, request.options.peepholes);
    if (failed(schedule))
      return failure();
    derived = std::move(*schedule);
    host = derived.host;
    compiled.isDerived = true;
  }
  compiled.names.arguments = std::move(*arguments);
  compiled.names.ptx = request.stem + ".ptx";
  if (request.options.machineCode)
    compiled.names.cubin = request.stem + ".cubin";
  auto schedule = compileSchedule(*host, compiled.names, request.options);
  if (failed(schedule))
    return failure();
  compiled.schedule = std::move(*schedule);
  return compiled;
}
