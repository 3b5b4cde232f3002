//===- CPUTarget.h - Runs compiled functions on this machine ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_CPUTARGET_H
#define FA_TOOLS_FA_RUN_CPUTARGET_H

#include "PlacedBuffer.h"
#include "fa/JIT/CPUCompiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// One function, compiled for this CPU.
class CPUTarget {
public:
  /// Compiles the module by `fa-to-cpu`. `function` is its entry before that.
  /// Fails with one diagnostic.
  static FailureOr<CPUTarget> compile(func::FuncOp function);

  /// Puts the arguments, and results of their shapes, where the function takes
  /// them. They have to live as long as the calls.
  SmallVector<PlacedBuffer> place(MutableArrayRef<HostBuffer> arguments,
                                  MutableArrayRef<HostBuffer> results);

  /// Calls the function. Memrefs among the buffers are updated.
  LogicalResult call(MutableArrayRef<PlacedBuffer> buffers);

  double getCompileSeconds() const { return compileSeconds; }

private:
  std::unique_ptr<CompiledModule> module;
  func::FuncOp function;
  /// Of the function with results as arguments.
  SmallVector<Type> types;
  CompiledModule::PackedFunction code = nullptr;
  double compileSeconds = 0;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_CPUTARGET_H
