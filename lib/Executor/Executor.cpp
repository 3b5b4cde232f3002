//===- Executor.cpp - Runs functions of a module --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/Executor.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

void executor::addUpstreamSemantics(Semantics &semantics) {
  addArithSemantics(semantics);
  addIndexSemantics(semantics);
  addMathSemantics(semantics);
  addFuncSemantics(semantics);
  addSCFSemantics(semantics);
  addAffineSemantics(semantics);
  addTensorSemantics(semantics);
  addMemRefSemantics(semantics);
  addBufferizationSemantics(semantics);
  addVectorSemantics(semantics);
  addLinalgSemantics(semantics);
}

Executor::Executor(ModuleOp module, const Semantics &semantics,
                   const NumberPolicy &policy)
    : module(module), semantics(semantics), policy(policy) {}

Executor::~Executor() = default;

FailureOr<const FunctionProgram *>
Executor::getProgram(FunctionOpInterface function) {
  std::unique_ptr<FunctionProgram> &entry = programs[function];
  if (entry)
    return entry.get();
  if (function.isExternal())
    return function.emitError("the evaluator needs the body of '")
           << function.getName() << "'";
  // Entered in the table first, so that a recursive call finds it.
  entry = std::make_unique<FunctionProgram>();
  FunctionProgram *program = entry.get();
  ProgramBuilder builder(semantics, policy, *this);
  if (failed(
          builder.compileRegion(function.getFunctionBody(), program->body))) {
    programs.erase(function);
    return failure();
  }
  program->numRegisters = builder.getNumRegisters();
  return program;
}

FailureOr<const FunctionProgram *> Executor::lookup(Operation *caller,
                                                    StringRef name) {
  auto function = module.lookupSymbol<FunctionOpInterface>(name);
  if (!function)
    return caller->emitError("calls the unknown function '") << name << "'";
  return getProgram(function);
}

LogicalResult Executor::prepare(FunctionOpInterface function) {
  return success(succeeded(getProgram(function)));
}

FailureOr<SmallVector<RuntimeValue>>
Executor::run(FunctionOpInterface function, SmallVector<RuntimeValue> arguments,
              const Execution &options) {
  FailureOr<const FunctionProgram *> program = getProgram(function);
  if (failed(program))
    return failure();
  assert(arguments.size() == function.getNumArguments() &&
         "wrong number of arguments");
  Execution execution = options;
  return (*program)->run(std::move(arguments), execution);
}
