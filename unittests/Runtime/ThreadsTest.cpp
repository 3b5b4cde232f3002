//===- ThreadsTest.cpp - One kernel from many threads ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <map>
#include <set>
#include <thread>

using namespace mlir::fa::runtime;

namespace {
class ThreadsTest : public RuntimeTest {};
} // namespace

TEST_F(ThreadsTest, ThreadsShareAKernel) {
  createAttention();
  constexpr int threadCount = 8;
  constexpr int launchesPerThread = 400;
  std::vector<void *> streams;
  for (int i = 0; i != threadCount; ++i)
    streams.push_back(fakeCreateStream());
  std::vector<std::thread> threads;
  std::vector<int> failures(threadCount);
  std::vector<int> wrongMessages(threadCount);
  for (int i = 0; i != threadCount; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j != launchesPerThread; ++j) {
        failures[i] +=
            launch(makeArguments(1, 1 + i + 10 * j), streams[i]) != 0;
        // Messages belong to threads.
        std::vector<FaArgument> wrong = makeArguments();
        wrong[0].rank = 1 + i % 3;
        launch(wrong, streams[i]);
        wrongMessages[i] += std::string(faRuntimeGetErrorMessage()) !=
                            "argument 'query' has rank " +
                                std::to_string(1 + i % 3) + ", expected 4";
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i != threadCount; ++i) {
    EXPECT_EQ(failures[i], 0);
    EXPECT_EQ(wrongMessages[i], 0);
  }

  EXPECT_EQ(fakeGetCalls("cuModuleLoadDataEx"), 1);
  EXPECT_EQ(fakeGetCalls("cuDevicePrimaryCtxRetain") -
                fakeGetCalls("cuDevicePrimaryCtxRelease_v2"),
            1);
  ASSERT_EQ(fakeGetLaunchCount(), threadCount * launchesPerThread);
  std::map<uint64_t, std::set<uint64_t>> countersOfStream;
  std::set<uint64_t> counters;
  for (int i = 0; i != fakeGetLaunchCount(); ++i) {
    const FakeLaunch &launch = *fakeGetLaunch(i);
    countersOfStream[launch.streamID].insert(getCounter(i));
    counters.insert(getCounter(i));
    // Each launch has the map of its own shape.
    auto map = getParameter<FakeTensorMap>(launch, 0);
    int64_t queries = map.sizes[1];
    EXPECT_EQ(getParameter<int32_t>(launch, 3), (queries + 127) / 128 * 4);
    EXPECT_EQ(uint64_t(queries - 1) % 10, launch.streamID - 100);
  }
  EXPECT_EQ(counters.size(), size_t(threadCount));
  for (auto &[stream, own] : countersOfStream)
    EXPECT_EQ(own.size(), 1u);
  for (void *stream : streams)
    fakeDestroyStream(stream);
}
