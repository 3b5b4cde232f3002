//===- FatalErrors.cpp - Errors that LLVM does not return from ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/FatalErrors.h"
#include "llvm/Support/ErrorHandling.h"
#include <csetjmp>
#include <mutex>
#include <string>
#include <utility>

using namespace mlir;

namespace {
/// Where the innermost caller in this thread goes on.
struct Recovery {
  jmp_buf state;
  std::string message;
  Recovery *outer;
};
} // namespace

static thread_local Recovery *innermost = nullptr;

static void onFatalError(void *, const char *reason, bool) {
  Recovery *recovery = innermost;
  if (recovery) {
    recovery->message = reason;
    longjmp(recovery->state, 1);
  }
  // LLVM is silent where there is a handler.
  llvm::errs() << "LLVM ERROR: " << reason << '\n';
}

namespace {
/// The one handler of the process, for as long as any thread is in here.
class Handler {
public:
  Handler() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ == 0)
      llvm::install_fatal_error_handler(onFatalError);
  }
  ~Handler() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users == 0)
      llvm::remove_fatal_error_handler();
  }

private:
  static std::mutex mutex;
  static unsigned users;
};
} // namespace

std::mutex Handler::mutex;
unsigned Handler::users = 0;

llvm::Error fa::catchFatalErrors(llvm::function_ref<void()> body) {
  Handler handler;
  Recovery recovery;
  recovery.outer = innermost;
  innermost = &recovery;
  bool failed = setjmp(recovery.state) != 0;
  if (!failed)
    body();
  innermost = recovery.outer;
  if (!failed)
    return llvm::Error::success();
  return llvm::createStringError(recovery.message);
}

void fa::RecoveringThreads::asyncEnqueue(llvm::unique_function<void()> task,
                                         llvm::ThreadPoolTaskGroup *group) {
  auto run = [this, task = std::move(task)]() mutable {
    llvm::Error error = catchFatalErrors([&] { task(); });
    std::lock_guard<std::mutex> lock(mutex);
    if (!error)
      return;
    std::string message = llvm::toString(std::move(error));
    if (!std::exchange(hasError, true))
      first = std::move(message);
  };
  if (group)
    threads.async(*group, std::move(run));
  else
    threads.async(std::move(run));
}

void fa::RecoveringThreads::reportFirst() {
  std::string message;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!std::exchange(hasError, false))
      return;
    message = std::move(first);
  }
  llvm::report_fatal_error(llvm::Twine(message), /*gen_crash_diag=*/false);
}

void fa::RecoveringThreads::wait() {
  threads.wait();
  reportFirst();
}

void fa::RecoveringThreads::wait(llvm::ThreadPoolTaskGroup &group) {
  threads.wait(group);
  reportFirst();
}
