//===- Server.h - Answers to requests ---------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_GRID_SERVER_H
#define FA_TOOLS_FA_GRID_SERVER_H

#include "Backend.h"
#include "fa/Executor/Executor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FileSystem.h"

namespace mlir::fa {

/// Runs problems in the float64 evaluator and on one backend. The requests are
/// described in fa-grid.cpp.
class Server {
public:
  /// Makes the backend of each module; one that makes none runs the evaluator
  /// alone.
  using MakeBackend = std::function<std::unique_ptr<Backend>()>;

  explicit Server(MakeBackend makeBackend);

  /// The answer to one request.
  llvm::json::Object answer(StringRef line);

private:
  /// The module that problems are run on.
  struct Loaded {
    OwningOpRef<ModuleOp> module, compiled;
    func::FuncOp function;
    std::unique_ptr<executor::Executor> evaluator;
    std::unique_ptr<Backend> backend;
  };

  LogicalResult load(StringRef file, StringRef compiledFile);
  LogicalResult runProblem(const llvm::json::Object &request, double &seconds);
  LogicalResult runMany(const llvm::json::Object &request, int64_t launches);
  LogicalResult handle(const llvm::json::Object &request, double &seconds);
  /// The problem of a request with its data, which `file` maps.
  FailureOr<Inputs> open(const llvm::json::Object &request,
                         llvm::sys::fs::mapped_file_region &file);
  LogicalResult runReference(const Problem &problem, const char *data,
                             StringRef file);
  LogicalResult fail(const Twine &message);

  MakeBackend makeBackend;
  MLIRContext context;
  executor::Semantics semantics;
  Loaded loaded;
  /// Text of the first error of the current request.
  std::string error;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_GRID_SERVER_H
