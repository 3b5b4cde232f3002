//===- FatalErrors.h - Errors that LLVM does not return from ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_FATALERRORS_H
#define FA_SUPPORT_FATALERRORS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>
#include <string>

namespace mlir::fa {

/// Runs `body` and returns what LLVM reported as a fatal error meanwhile in
/// this thread, which would end the process otherwise. `body` is left where it
/// is, without its destructors: what it was working on is leaked and must not
/// be touched again. Several threads may be in here.
llvm::Error catchFatalErrors(llvm::function_ref<void()> body);

/// Threads whose fatal errors are those of the thread that waits for them: the
/// first one is reported there once all of its tasks have ended or were left.
class RecoveringThreads : public llvm::ThreadPoolInterface {
public:
  void wait() override;
  void wait(llvm::ThreadPoolTaskGroup &group) override;
  unsigned getMaxConcurrency() const override {
    return threads.getMaxConcurrency();
  }

private:
  void asyncEnqueue(llvm::unique_function<void()> task,
                    llvm::ThreadPoolTaskGroup *group) override;
  void reportFirst();

  llvm::DefaultThreadPool threads;
  std::mutex mutex;
  std::string first;
  bool hasError = false;
};

} // namespace mlir::fa

#endif // FA_SUPPORT_FATALERRORS_H
