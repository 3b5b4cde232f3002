//===- State.h - What handles of the C API stand for ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CAPI_STATE_H
#define FA_LIB_CAPI_STATE_H

#include "fa-c/Compiler.h"
#include "fa/Driver/CPUFunction.h"
#include "fa/Driver/Messages.h"
#include "fa/Driver/Program.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

namespace mlir::fa::capi {

/// An MLIR context with what was said in it. Modules keep it alive.
struct ContextState {
  explicit ContextState(uint32_t flags);

  /// Held by each call.
  std::mutex mutex;
  /// Outlives the context, which writes to it.
  MessageLog log;
  MLIRContext context;
  bool isClosed = false;
};

/// A module, and the names that its text gave to arguments of functions.
struct ModuleState {
  std::shared_ptr<ContextState> context;
  Program program;
  /// By function, since a pipeline changed the text's operations.
  llvm::StringMap<SmallVector<std::string>> names;

  /// Those of the text, as far as they are known.
  FailureOr<SmallVector<std::string>> getNames(func::FuncOp function);
};

/// Keeps `message` for faGetErrorMessage and returns `status`.
FaStatus fail(FaStatus status, const Twine &message);
FaStatus fail(FaStatus status, llvm::Error error);
/// That the argument `what` is null.
FaStatus failNull(StringRef what);

/// Runs `body` with the context to itself, where it is open. A failure without
/// a message becomes the first error of the context, as `status`; so does what
/// LLVM ends a process with.
FaStatus runInContext(ContextState &context, FaStatus status,
                      llvm::function_ref<LogicalResult()> body);

/// The same with threads in the context for as long as it takes: kernels of one
/// problem are compiled side by side. None is left that a fork would lose.
FaStatus runWithThreads(ContextState &context, FaStatus status,
                        llvm::function_ref<LogicalResult()> body);

/// The same for what cannot fail; the messages of the last call stay.
FaStatus readInContext(ContextState &context, llvm::function_ref<void()> body);

/// Gives bytes to the caller.
FaBytes makeBytes(std::string bytes);

inline std::shared_ptr<ContextState> &unwrap(FaContext context) {
  return *reinterpret_cast<std::shared_ptr<ContextState> *>(context);
}
inline ModuleState &unwrap(FaModule module) {
  return *reinterpret_cast<ModuleState *>(module);
}
inline CPUFunction &unwrap(FaFunction function) {
  return *reinterpret_cast<CPUFunction *>(function);
}
inline std::string &unwrap(FaBytes bytes) {
  return *reinterpret_cast<std::string *>(bytes);
}

} // namespace mlir::fa::capi

#endif // FA_LIB_CAPI_STATE_H
