//===- Executor.h - Runs functions of a module ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_EXECUTOR_H
#define FA_EXECUTOR_EXECUTOR_H

#include "fa/Executor/NumberPolicy.h"
#include "fa/Executor/ProgramBuilder.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::fa::executor {

/// Compiles functions of a module on first use and runs them. The module, the
/// semantics and the policy must outlive the executor, and the module must not
/// change. Every failure has emitted one diagnostic.
class Executor : private FunctionTable {
public:
  Executor(ModuleOp module, const Semantics &semantics,
           const NumberPolicy &policy = getFloat64Policy());
  ~Executor() override;

  /// Compiles a function without running it: finds what is not covered.
  LogicalResult prepare(FunctionOpInterface function);

  /// Calls a function. Arguments of memref type are updated in place.
  FailureOr<SmallVector<RuntimeValue>>
  run(FunctionOpInterface function, SmallVector<RuntimeValue> arguments,
      const Execution &options = Execution());

private:
  FailureOr<const FunctionProgram *> lookup(Operation *caller,
                                            StringRef name) override;
  FailureOr<const FunctionProgram *> getProgram(FunctionOpInterface function);

  ModuleOp module;
  const Semantics &semantics;
  const NumberPolicy &policy;
  DenseMap<Operation *, std::unique_ptr<FunctionProgram>> programs;
};

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_EXECUTOR_H
