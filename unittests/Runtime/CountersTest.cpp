//===- CountersTest.cpp - Who shares a tile counter, and who must not -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counter that the blocks of one launch draw tiles from: which launches may
// share one, when it is free again, and what becomes of it in a captured graph.
// Tests of streams come first, then captures and graphs. `launchInNewStreams`
// and `getCounter` (RuntimeTest.h) say which counters launches were given.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include "fa/Runtime/CUDA/Counters.h"
#include <set>

using namespace mlir::fa::runtime;

namespace {
class CountersTest : public RuntimeTest {
protected:
  /// Launches in `count` streams that are destroyed at once; the counters.
  std::vector<uint64_t> launchInNewStreams(int count) {
    std::vector<uint64_t> counters;
    for (int i = 0; i != count; ++i) {
      void *stream = fakeCreateStream();
      EXPECT_EQ(launch(makeArguments(), stream), FA_SUCCESS)
          << faRuntimeGetErrorMessage();
      fakeDestroyStream(stream);
      counters.push_back(getCounter(fakeGetLaunchCount() - 1));
    }
    return counters;
  }
  size_t getWorkspace() {
    size_t bytes = 0;
    EXPECT_EQ(faRuntimeGetWorkspaceSize(runtime, 0, &bytes), FA_SUCCESS);
    return bytes;
  }
};
} // namespace

TEST_F(CountersTest, LaunchesOfOneStreamShareACounter) {
  createAttention();
  void *stream = fakeCreateStream();
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  EXPECT_EQ(getCounter(0), getCounter(1));
  EXPECT_NE(getCounter(0), getCounter(2));
  EXPECT_EQ(getCounter(0) % CounterPool::slotBytes, 0u);
  EXPECT_EQ(getWorkspace(), CounterPool::chunkBytes);
  fakeDestroyStream(stream);
}

// A stream that was destroyed may have a launch that is still running, and its
// handle may come back for another stream.
TEST_F(CountersTest, StreamsNeverShare) {
  createAttention();
  std::vector<uint64_t> counters = launchInNewStreams(3000);
  EXPECT_EQ(std::set<uint64_t>(counters.begin(), counters.end()).size(), 3000u);
  EXPECT_LE(getWorkspace(), size_t(FA_WORKSPACE_LIMIT));
}

TEST_F(CountersTest, EndlessStreamsReuseWhatIsOver) {
  createAttention();
  launchInNewStreams(CounterPool::maxBound + 1);
  int events = fakeGetCalls("cuEventRecord");
  fakeHoldEvents(true);
  std::vector<uint64_t> running = launchInNewStreams(10);
  EXPECT_EQ(fakeGetCalls("cuEventRecord"), events + 10);
  EXPECT_EQ(std::set<uint64_t>(running.begin(), running.end()).size(), 10u);
  fakeHoldEvents(false);
  std::vector<uint64_t> next = launchInNewStreams(5000);
  EXPECT_EQ(next.front(), running.front());
  EXPECT_LE(getWorkspace(), size_t(FA_WORKSPACE_LIMIT));
}

TEST_F(CountersTest, RefusesWhenTooManyLaunchesAreRunning) {
  createAttention();
  launchInNewStreams(CounterPool::maxBound);
  fakeHoldEvents(true);
  launchInNewStreams(CounterPool::maxTracked);
  void *stream = fakeCreateStream();
  EXPECT_EQ(launch(makeArguments(), stream), FA_OUT_OF_MEMORY);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "no tile counter is free on device 0: 4096 streams own one, and "
               "1024 launches in other streams are not over; launch again "
               "later, or use fewer streams");
  fakeHoldEvents(false);
  EXPECT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  fakeDestroyStream(stream);
}

TEST_F(CountersTest, AFailedLaunchFreesACounterThatGoesFromStreamToStream) {
  createAttention();
  launchInNewStreams(CounterPool::maxBound);
  fakeFail("cuLaunchKernel", 701, 0, 1);
  void *stream = fakeCreateStream();
  EXPECT_EQ(launch(makeArguments(), stream), FA_LAUNCH_LIMIT);
  fakeDestroyStream(stream);
  std::vector<uint64_t> next = launchInNewStreams(2);
  EXPECT_EQ(next[0], next[1]);
}

TEST_F(CountersTest, EveryCapturedLaunchOwnsItsCounter) {
  createAttention();
  void *stream = fakeCreateStream();
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  fakeBeginCapture(stream);
  for (int i = 0; i != 3; ++i)
    ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
  void *graph = fakeEndCapture(stream);
  ASSERT_NE(graph, nullptr) << "the capture was invalidated";
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  std::set<uint64_t> captured;
  for (int i = 1; i != 4; ++i) {
    EXPECT_NE(fakeGetLaunch(i)->graph, nullptr);
    captured.insert(getCounter(i));
  }
  EXPECT_EQ(captured.size(), 3u);
  EXPECT_EQ(captured.count(getCounter(0)), 0u);
  EXPECT_EQ(getCounter(0), getCounter(4)) << "the stream keeps its own";

  // As long as an instance lives, nobody else gets the counters.
  void *instance = fakeInstantiate(graph);
  fakeDestroyGraph(graph);
  for (uint64_t counter : launchInNewStreams(100))
    EXPECT_EQ(captured.count(counter), 0u);
  fakeDestroyGraph(instance);
  std::set<uint64_t> reused;
  for (uint64_t counter : launchInNewStreams(3))
    reused.insert(counter);
  EXPECT_EQ(reused, captured) << "freed with the last instance";
  fakeDestroyStream(stream);
}

// Loading and allocating are forbidden to a thread that captures, and would end
// its capture.
TEST_F(CountersTest, TheFirstLaunchMayBeCaptured) {
  createAttention();
  void *stream = fakeCreateStream();
  fakeHoldEvents(true);
  fakeBeginCapture(stream);
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetCalls("cuStreamWaitEvent"), 1)
      << "the counters are being zeroed in another stream";
  void *graph = fakeEndCapture(stream);
  ASSERT_NE(graph, nullptr) << "the capture was invalidated";
  fakeDestroyGraph(graph);
  fakeDestroyStream(stream);
}

TEST_F(CountersTest, ACaptureThatWasInvalidatedIsRefused) {
  createAttention();
  void *stream = fakeCreateStream();
  fakeBeginCapture(stream);
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  fakeFail("cuGraphRetainUserObject", 2, 0, 1);
  EXPECT_EQ(launch(makeArguments(), stream), FA_OUT_OF_MEMORY);
  fakeFail("cuUserObjectCreate", 2, 0, 1);
  EXPECT_EQ(launch(makeArguments(), stream), FA_OUT_OF_MEMORY);
  EXPECT_EQ(fakeGetLaunchCount(), 1);
  void *graph = fakeEndCapture(stream);
  ASSERT_NE(graph, nullptr);
  fakeDestroyGraph(graph);
  EXPECT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  fakeDestroyStream(stream);
}

TEST_F(CountersTest, AGraphMayOutliveTheRuntime) {
  createAttention();
  void *stream = fakeCreateStream();
  fakeBeginCapture(stream);
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  void *graph = fakeEndCapture(stream);
  faKernelDestroy(kernel);
  faRuntimeDestroy(runtime);
  kernel = nullptr;
  runtime = nullptr;
  fakeDestroyGraph(graph);
  fakeDestroyStream(stream);
}

TEST_F(CountersTest, GraphsCannotTakeMoreThanTheWorkspace) {
  createAttention();
  void *stream = fakeCreateStream();
  fakeBeginCapture(stream);
  int slots = CounterPool::maxChunks * CounterPool::slotsPerChunk;
  std::vector<FaArgument> arguments = makeArguments();
  for (int i = 0; i != slots; ++i)
    ASSERT_EQ(launch(arguments, stream), FA_SUCCESS);
  EXPECT_EQ(getWorkspace(), size_t(FA_WORKSPACE_LIMIT));
  EXPECT_EQ(launch(arguments, stream), FA_OUT_OF_MEMORY);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "all 24576 tile counters of device 0 are in use; each stream "
               "and each launch in a graph keeps one: destroy graphs that are "
               "done with");
  fakeDestroyGraph(fakeEndCapture(stream));
  EXPECT_EQ(launch(arguments, stream), FA_SUCCESS);
  fakeDestroyStream(stream);
}

TEST_F(CountersTest, ALaunchFollowsTheZeroingOfItsCounter) {
  createAttention();
  fakeHoldEvents(true);
  void *stream = fakeCreateStream();
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuStreamWaitEvent"), 1);
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuStreamWaitEvent"), 1) << "ordered by the stream";
  fakeHoldEvents(false);
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuStreamWaitEvent"), 1) << "known to be zero";
  fakeDestroyStream(stream);
}
