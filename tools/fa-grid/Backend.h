//===- Backend.h - What problems run on -------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_GRID_BACKEND_H
#define FA_TOOLS_FA_GRID_BACKEND_H

#include "Request.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// The bytes of one problem.
struct Inputs {
  Problem problem;
  MutableArrayRef<char> data;
};

/// One compiled function. Every failure has emitted one diagnostic.
class Backend {
public:
  virtual ~Backend() = default;

  virtual LogicalResult compile(func::FuncOp function) = 0;
  /// Runs on the arguments in `data` and writes the results there.
  virtual LogicalResult run(const Problem &problem,
                            MutableArrayRef<char> data) = 0;
  /// Launches `count` times, on one problem after the other in random order and
  /// without a wait between, each problem at least once. Fails where there is
  /// no device.
  virtual LogicalResult launchMany(MutableArrayRef<Inputs> problems,
                                   unsigned count) {
    return failure();
  }
};

/// Machine code for this processor.
std::unique_ptr<Backend> createCPUBackend();
/// A schedule for `chip`, derived by passes, with or without peepholes, and run
/// by the interpreter.
std::unique_ptr<Backend> createInterpreterBackend(StringRef chip,
                                                  bool peepholes);
/// The same, compiled and launched on the first CUDA device.
std::unique_ptr<Backend> createCUDABackend(StringRef chip, bool peepholes);

/// The chips to derive for on the first CUDA device, one for each form that it
/// runs: its own target first.
llvm::Expected<SmallVector<StringRef>> findCUDAChips();

} // namespace mlir::fa

#endif // FA_TOOLS_FA_GRID_BACKEND_H
