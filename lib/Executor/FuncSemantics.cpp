//===- FuncSemantics.cpp - The func dialect in the executor ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ProgramBuilder.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static LogicalResult compileCall(func::CallOp op, ProgramBuilder &builder) {
  FailureOr<const FunctionProgram *> callee =
      builder.getFunctions().lookup(op, op.getCallee());
  if (failed(callee))
    return failure();
  SmallVector<Use> operands = builder.getUses(op->getOpOperands());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  builder.emit([=, callee = *callee](Frame &frame) -> LogicalResult {
    Execution &execution = *frame.execution;
    if (execution.callDepth == execution.maxCallDepth)
      return op->emitError("calls nest deeper than ") << execution.maxCallDepth;
    SmallVector<RuntimeValue> arguments;
    for (Use use : operands)
      arguments.push_back(use.take(frame));
    ++execution.callDepth;
    auto values = callee->run(std::move(arguments), execution);
    --execution.callDepth;
    if (failed(values))
      return failure();
    for (auto [index, value] : llvm::zip_equal(results, *values))
      frame[index] = std::move(value);
    return success();
  });
  return success();
}

/// An assertion that does not hold ends the run with its message.
static LogicalResult compileAssert(cf::AssertOp op, ProgramBuilder &builder) {
  unsigned condition = builder.getRegister(op.getArg());
  StringRef message = op.getMsg();
  builder.emit([=](Frame &frame) -> LogicalResult {
    if (frame.integer(condition))
      return success();
    return op->emitError(message);
  });
  return success();
}

void executor::addFuncSemantics(Semantics &semantics) {
  semantics.add<cf::AssertOp>(compileAssert);
  semantics.add<func::CallOp>(compileCall);
}
