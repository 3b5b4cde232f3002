//===- LaunchObjectsTest.cpp - Launches on a framework's tensors ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/CUDA/DLPackExchange.h"
#include "RuntimeTest.h"

using namespace mlir::fa::runtime;

namespace {

/// The framework: its objects are what its functions say of them.
struct Object {
  dlpack::Tensor tensor;
  int status = 0;
};

int describe(void *object, dlpack::Tensor *tensor) {
  *tensor = static_cast<Object *>(object)->tensor;
  return static_cast<Object *>(object)->status;
}

void *currentStream = nullptr;

int getCurrentStream(dlpack::DeviceType type, int32_t, void **stream) {
  *stream = currentStream;
  return type == dlpack::CUDA ? 0 : -1;
}

class LaunchObjectsTest : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    createAttention();
    exchange = {1,       3,       nullptr,  nullptr,
                nullptr, nullptr, describe, getCurrentStream};
    arguments = makeArguments();
    for (unsigned i = 0; i != 3; ++i)
      objects[i].tensor = {arguments[i].value.data,
                           dlpack::CUDA,
                           0,
                           arguments[i].rank,
                           i == 2 ? dlpack::Float : dlpack::BFloat,
                           uint8_t(i == 2 ? 32 : 16),
                           1,
                           arguments[i].shape,
                           arguments[i].strides,
                           0};
  }

  FaStatus launchObjects(void *stream, bool usesCurrent = false,
                         size_t count = 4) {
    void *pointers[] = {&objects[0], &objects[1], &objects[2], nullptr};
    double scale = 0.5;
    return faKernelLaunchObjects(kernel, &exchange, pointers, count, &scale,
                                 usesCurrent, stream);
  }

  /// Nothing is launched, and the next call works.
  void expectNotTaken() {
    ASSERT_EQ(launch(arguments), FA_SUCCESS) << faRuntimeGetErrorMessage();
    int launches = fakeGetLaunchCount();
    EXPECT_EQ(launchObjects(nullptr), FA_NOT_TAKEN);
    EXPECT_EQ(fakeGetLaunchCount(), launches);
    EXPECT_EQ(launch(arguments), FA_SUCCESS) << faRuntimeGetErrorMessage();
  }

  dlpack::ExchangeFunctions exchange;
  std::vector<FaArgument> arguments;
  Object objects[3];
};

} // namespace

TEST_F(LaunchObjectsTest, LaunchesAsArgumentsDo) {
  void *stream = fakeCreateStream();
  ASSERT_EQ(launch(arguments, stream), FA_SUCCESS);
  ASSERT_EQ(launchObjects(stream), FA_SUCCESS) << faRuntimeGetErrorMessage();
  ASSERT_EQ(fakeGetLaunchCount(), 2);
  const FakeLaunch &first = *fakeGetLaunch(0), &second = *fakeGetLaunch(1);
  EXPECT_EQ(second.grid[0], first.grid[0]);
  EXPECT_EQ(second.streamID, first.streamID);
  EXPECT_EQ(getParameter<FakeTensorMap>(second, 0).address,
            getParameter<FakeTensorMap>(first, 0).address);
  EXPECT_EQ(getParameter<uint64_t>(second, 2),
            getParameter<uint64_t>(first, 2));
  EXPECT_EQ(getParameter<float>(second, 4), 1.0f);
  EXPECT_EQ(getParameter<int64_t>(second, 5), 512);
  fakeDestroyStream(stream);
}

TEST_F(LaunchObjectsTest, TakesTheStreamOfTheFramework) {
  currentStream = fakeCreateStream();
  ASSERT_EQ(launch(arguments, currentStream), FA_SUCCESS);
  ASSERT_EQ(launchObjects(nullptr, true), FA_SUCCESS);
  EXPECT_EQ(fakeGetLaunch(1)->streamID, fakeGetLaunch(0)->streamID);
  ASSERT_EQ(launchObjects(nullptr, false), FA_SUCCESS);
  EXPECT_NE(fakeGetLaunch(2)->streamID, fakeGetLaunch(0)->streamID);
  fakeDestroyStream(currentStream);
}

TEST_F(LaunchObjectsTest, AddsOffsetsAndFillsStrides) {
  ASSERT_EQ(launch(arguments), FA_SUCCESS);
  objects[2].tensor.byteOffset = 256;
  objects[2].tensor.strides = nullptr;
  ASSERT_EQ(launchObjects(nullptr), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(getParameter<uint64_t>(*fakeGetLaunch(1), 2),
            fakeBase(0) + (1 << 29) + 256);
}

TEST_F(LaunchObjectsTest, SaysWhatIsWrongWithTensors) {
  ASSERT_EQ(launch(arguments), FA_SUCCESS);
  objects[0].tensor.code = dlpack::Float;
  EXPECT_EQ(launchObjects(nullptr), FA_INVALID_ARGUMENT);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "argument 'query' has type f16, expected bf16");
}

TEST_F(LaunchObjectsTest, LeavesAKernelThatIsNotLoaded) {
  EXPECT_EQ(launchObjects(nullptr), FA_NOT_TAKEN);
  EXPECT_EQ(fakeGetLaunchCount(), 0);
  ASSERT_EQ(faKernelPrepare(kernel, 0), FA_SUCCESS);
  EXPECT_EQ(launchObjects(nullptr), FA_SUCCESS);
}

TEST_F(LaunchObjectsTest, NeedsNoLaunchThatHasNoBlocks) {
  faKernelDestroy(kernel);
  ASSERT_EQ(load(R"json({
    "version": 1, "kernel": "one", "chip": "sm_90a", "block": [128],
    "arguments": [{"name": "x", "dtype": "f32", "shape": ["n"]}],
    "values": [{"name": "half", "op": "floordiv", "operands": ["n", 2]}],
    "before": [{"kernel": "other", "block": [128],
                "parameters": [{"pointer": "x"}], "grid": ["half"]}],
    "parameters": [{"pointer": "x"}], "grid": ["n"]
  })json",
                 "fake-kernel: one 128 0 8\nfake-kernel: other 128 0 8\n"),
            FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  FaArgument single = makeTensor(FA_TYPE_F32, {1}, 0);
  Object object{{single.value.data, dlpack::CUDA, 0, 1, dlpack::Float, 32, 1,
                 single.shape, single.strides, 0}};
  void *pointers[] = {&object};
  ASSERT_EQ(launch({single}), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(faKernelLaunchObjects(kernel, &exchange, pointers, 1, nullptr, 0,
                                  nullptr),
            FA_SUCCESS);
  EXPECT_EQ(fakeGetLaunchCount(), 2);
}

TEST_F(LaunchObjectsTest, LeavesWhatItCannotDescribe) {
  objects[1].status = -1;
  expectNotTaken();
}

TEST_F(LaunchObjectsTest, LeavesMemoryOfTheHost) {
  objects[1].tensor.deviceType = dlpack::DeviceType(1);
  expectNotTaken();
}

TEST_F(LaunchObjectsTest, LeavesUnknownTypes) {
  objects[1].tensor.bits = 128;
  expectNotTaken();
  objects[1].tensor.bits = 16;
  objects[1].tensor.lanes = 2;
  expectNotTaken();
}

TEST_F(LaunchObjectsTest, LeavesRanksBeyondTheLimit) {
  objects[1].tensor.rank = FA_MAX_RANK + 1;
  expectNotTaken();
  objects[1].tensor.rank = 0;
  expectNotTaken();
}

TEST_F(LaunchObjectsTest, LeavesOtherVersionsAndCounts) {
  ASSERT_EQ(launch(arguments), FA_SUCCESS);
  EXPECT_EQ(launchObjects(nullptr, false, 3), FA_NOT_TAKEN);
  exchange.describe = nullptr;
  EXPECT_EQ(launchObjects(nullptr), FA_NOT_TAKEN);
  exchange.describe = describe;
  exchange.major = 2;
  EXPECT_EQ(launchObjects(nullptr), FA_NOT_TAKEN);
  EXPECT_EQ(fakeGetLaunchCount(), 1);
}
