//===- HostSemantics.cpp - Launches and what they need --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUSemantics.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

static LogicalResult compileLaunch(fagpu::LaunchOp op, ProgramBuilder &builder,
                                   Machine &machine) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getKernelAttr());
  FailureOr<const FunctionProgram *> program =
      builder.getFunctions().lookup(op, op.getKernel());
  if (failed(program))
    return failure();
  SmallVector<unsigned> sizes = builder.getRegisters(op.getGrid());
  SmallVector<unsigned> operands = builder.getRegisters(op.getArguments());
  std::optional<unsigned> condition;
  if (Value given = op.getCondition())
    condition = builder.getRegister(given);
  builder.emit([=, &machine, program = *program](Frame &frame) {
    if (condition && !frame.integer(*condition))
      return success();
    std::array<int64_t, 3> grid = {1, 1, 1};
    for (auto [size, index] : llvm::zip(grid, sizes))
      size = frame.integer(index);
    SmallVector<RuntimeValue> arguments = llvm::map_to_vector(
        operands, [&](unsigned index) { return frame[index]; });
    RunningGrid running(machine, op, kernel, grid, *frame.execution);
    return running.run([&](Execution &execution) {
      return LogicalResult(program->run(arguments, execution));
    });
  });
  return success();
}

static LogicalResult compileCounter(fagpu::CounterOp op,
                                    ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getCounter());
  SmallVector<int64_t> shape(
      cast<MemRefType>(op.getCounter().getType()).getShape());
  builder.emit([=](Frame &frame) {
    frame[result] = makeFilledArray(shape, Slot::ofInteger(0));
    return success();
  });
  return success();
}

static LogicalResult compileWorkspace(fagpu::WorkspaceOp op,
                                      ProgramBuilder &builder) {
  return compileAllocation(op, op.getMemory().getType(), op.getSizes(),
                           builder);
}

static LogicalResult compileMultiprocessors(fagpu::MultiprocessorsOp op,
                                            ProgramBuilder &builder,
                                            Machine &machine) {
  unsigned result = builder.getRegister(op.getCount());
  builder.emit([=, &machine](Frame &frame) {
    frame.slot(result).integer = machine.options.multiprocessors;
    return success();
  });
  return success();
}

void interpreter::addHostSemantics(Semantics &semantics, Machine &machine) {
  semantics.add<fagpu::LaunchOp>(
      [&](fagpu::LaunchOp op, ProgramBuilder &builder) {
        return compileLaunch(op, builder, machine);
      });
  semantics.add<fagpu::CounterOp>(compileCounter);
  semantics.add<fagpu::WorkspaceOp>(compileWorkspace);
  semantics.add<fagpu::MultiprocessorsOp>(
      [&](fagpu::MultiprocessorsOp op, ProgramBuilder &builder) {
        return compileMultiprocessors(op, builder, machine);
      });
}
