//===- FatalErrorsTest.cpp - Errors that LLVM does not return from --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/FatalErrors.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include "gtest/gtest.h"
#include <atomic>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

#if LLVM_ADDRESS_SANITIZER_BUILD
// A task that dies does not unwind: what it held, an upstream handler of
// diagnostics too, is lost.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:llvm::unique_function<void ()>";
}
#endif

namespace {
/// A context with threads, as the C API has one while it compiles.
struct Threads : testing::Test {
  Threads() : context(MLIRContext::Threading::DISABLED) {
    context.setThreadPool(threads);
  }
  ~Threads() override { context.disableMultithreading(); }

  RecoveringThreads threads;
  MLIRContext context;
};
} // namespace

TEST_F(Threads, reportWhereTheyAreWaitedFor) {
  std::atomic<bool> wasOnOther = false;
  std::thread::id waiting = std::this_thread::get_id();
  llvm::Error error = catchFatalErrors([&] {
    parallelFor(&context, 0, 8, [&](size_t index) {
      wasOnOther = wasOnOther || std::this_thread::get_id() != waiting;
      if (index == 3)
        llvm::report_fatal_error("the third");
    });
  });
  EXPECT_TRUE(wasOnOther);
  EXPECT_EQ(llvm::toString(std::move(error)), "the third");
}

TEST_F(Threads, goOnWithOthers) {
  for (unsigned turn = 0; turn < 2; ++turn) {
    std::atomic<unsigned> done = 0;
    llvm::Error error = catchFatalErrors([&] {
      parallelFor(&context, 0, 8, [&](size_t index) {
        if (turn == 0)
          llvm::report_fatal_error("each");
        ++done;
      });
    });
    if (turn == 0)
      EXPECT_EQ(llvm::toString(std::move(error)), "each");
    else
      EXPECT_FALSE(static_cast<bool>(error));
    EXPECT_EQ(done, turn == 0 ? 0u : 8u);
  }
}

TEST_F(Threads, reportThroughTasksThatWait) {
  std::atomic<bool> wentOn = false;
  llvm::Error error = catchFatalErrors([&] {
    parallelFor(&context, 0, 2, [&](size_t outer) {
      parallelFor(&context, 0, 2, [&](size_t inner) {
        if (outer == 1 && inner == 1)
          llvm::report_fatal_error("within");
      });
    });
    wentOn = true;
  });
  EXPECT_FALSE(wentOn);
  EXPECT_EQ(llvm::toString(std::move(error)), "within");
}
