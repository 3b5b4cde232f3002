//===- SchedulerTest.cpp - Bodies of coroutines and their turns -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "gtest/gtest.h"
#include <atomic>

using namespace llvm;
using namespace mlir::fa::interpreter;

namespace {
/// Counts what happens to a value that a body captures.
struct Counts {
  std::atomic<int> copies{0};
  std::atomic<int> live{0};
};

class Captured {
public:
  explicit Captured(Counts &counts) : counts(counts) { ++counts.live; }
  Captured(const Captured &other) : counts(other.counts) {
    ++counts.copies;
    ++counts.live;
  }
  Captured(Captured &&other) : counts(other.counts) { ++counts.live; }
  ~Captured() { --counts.live; }

private:
  Counts &counts;
};

class SchedulerTest : public testing::Test {
protected:
  std::mt19937_64 random{1};
  Counts counts;
};
} // namespace

// A thread that waits for its first turn runs beside the one that has it, so a
// copy that it made would race on the reference counts of what is captured.
TEST_F(SchedulerTest, ABodyIsNeverCopied) {
  Scheduler scheduler(random);
  for (int i = 0; i < 4; ++i)
    scheduler.spawn([captured = Captured(counts)] { return success(); });
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(scheduler.step(), Scheduler::Outcome::Finished);
  EXPECT_EQ(counts.copies, 0);
}

TEST_F(SchedulerTest, ABodyIsGoneWhenItsCoroutineHasEnded) {
  Scheduler scheduler(random);
  for (int i = 0; i < 4; ++i)
    scheduler.spawn([captured = Captured(counts)] { return success(); });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(counts.live, 4 - i);
    EXPECT_EQ(scheduler.step(), Scheduler::Outcome::Finished);
  }
  EXPECT_EQ(counts.live, 0);
}

TEST_F(SchedulerTest, CancelledBodiesAreGoneWithTheScheduler) {
  bool wasCancelled = false;
  int numStarted = 0;
  {
    Scheduler scheduler(random);
    Coroutine *first = nullptr;
    first = &scheduler.spawn([&, captured = Captured(counts)] {
      ++numStarted;
      wasCancelled = failed(first->waitUntil([] { return false; }));
      return failure();
    });
    EXPECT_EQ(scheduler.step(), Scheduler::Outcome::Deadlock);
    scheduler.spawn([&, captured = Captured(counts)] {
      ++numStarted;
      return success();
    });
    EXPECT_EQ(counts.live, 2);
  }
  EXPECT_TRUE(wasCancelled);
  EXPECT_EQ(numStarted, 1);
  EXPECT_EQ(counts.copies, 0);
  EXPECT_EQ(counts.live, 0);
}
