//===- Interpreter.h - Runs GPU schedules on the CPU ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fagpu dialect in the executor: the groups of the roles of a kernel run as
// coroutines in a random order, and every rule of channels, turns, mail and
// products in flight is checked as they go. A kernel may be as written or after
// any pass of `fagpu-plan`.
//
//===----------------------------------------------------------------------===//

#ifndef FA_INTERPRETER_INTERPRETER_H
#define FA_INTERPRETER_INTERPRETER_H

#include "fa/Executor/Executor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <array>

namespace mlir::fa::interpreter {

class Machine;

struct InterpreterOptions {
  /// Chooses the interleaving.
  uint64_t seed = 0;
  /// Multiprocessors of the device. Each runs `fagpu.blocks_per_sm` blocks at a
  /// time; few of them make persistent blocks compute several tiles.
  int64_t multiprocessors = 3;
  /// Events that a trace shows of each group.
  unsigned traceLength = 4;
  /// Steps after which a launch counts as endless.
  int64_t maxSteps = 100'000'000;
};

/// Meanings of the fagpu dialect, of kernels and of the host functions that
/// launch them.
class Interpreter {
public:
  explicit Interpreter(const InterpreterOptions &options = {});
  ~Interpreter();

  /// Adds the operations, which refer to the interpreter.
  void addSemantics(executor::Semantics &semantics);

  /// Runs a kernel without a host function. Memrefs are updated in place. Fails
  /// with one diagnostic.
  LogicalResult runKernel(executor::Executor &executor, func::FuncOp kernel,
                          std::array<int64_t, 3> grid,
                          SmallVector<executor::RuntimeValue> arguments);

private:
  std::unique_ptr<Machine> machine;
};

} // namespace mlir::fa::interpreter

#endif // FA_INTERPRETER_INTERPRETER_H
