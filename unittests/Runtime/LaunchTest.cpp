//===- LaunchTest.cpp - What a launch passes to the driver ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch hands to the driver, as the fake one recorded it: parameters
// and tensor maps first, then tensors with odd strides or without elements,
// then modules, devices, clusters and dependent launches. The last test counts
// the calls of the driver in a launch that finds everything cached.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::fa::runtime;

namespace {
class LaunchTest : public RuntimeTest {
protected:
  /// The arguments of a call whose numbers are kept: no device is looked up.
  static std::vector<FaArgument> makePlacedArguments(uint64_t offset,
                                                     int64_t queries = 300) {
    std::vector<FaArgument> arguments = makeArguments(2, queries);
    for (FaArgument &argument : arguments) {
      argument.device = 0;
      if (argument.rank != FA_SCALAR)
        argument.value.integer += offset;
    }
    return arguments;
  }
};
} // namespace

TEST_F(LaunchTest, PassesEveryParameter) {
  createAttention();
  void *stream = fakeCreateStream();
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  ASSERT_EQ(fakeGetLaunchCount(), 1);
  const FakeLaunch &launch = *fakeGetLaunch(0);
  EXPECT_STREQ(launch.kernel, "attn");
  EXPECT_EQ(launch.grid[0], 24u);
  EXPECT_EQ(launch.grid[1], 1u);
  EXPECT_EQ(launch.block[0], 384u);
  EXPECT_EQ(launch.cluster[0], 1u);
  EXPECT_EQ(launch.sharedMemory, 200000u);
  EXPECT_EQ(launch.streamID, 100u);
  ASSERT_EQ(launch.parameterCount, 7u);
  EXPECT_EQ(getParameter<uint64_t>(launch, 2), fakeBase(0) + (1 << 29));
  EXPECT_EQ(getParameter<int32_t>(launch, 3), 24);
  EXPECT_EQ(getParameter<float>(launch, 4), 1.0f);
  EXPECT_EQ(getParameter<int64_t>(launch, 5), 512);
  EXPECT_NE(getParameter<uint64_t>(launch, 6), 0u);
  fakeDestroyStream(stream);
}

TEST_F(LaunchTest, EncodesTensorMapsFromShapeStridesBoxAndSwizzle) {
  createAttention();
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  auto query = getParameter<FakeTensorMap>(*fakeGetLaunch(0), 0);
  EXPECT_EQ(query.address, fakeBase(0));
  EXPECT_EQ(query.rank, 5);
  EXPECT_EQ(query.type, 9) << "bf16";
  EXPECT_EQ(query.swizzle, 3) << "128 bytes";
  EXPECT_EQ(query.promotion, 3) << "256 bytes in manifests that say nothing";
  uint64_t sizes[] = {64, 300, 2, 4, 2};
  uint64_t strides[] = {1024, 128, 256, 300 * 1024};
  uint32_t box[] = {64, 64, 2, 1, 1};
  EXPECT_EQ(memcmp(query.sizes, sizes, sizeof(sizes)), 0);
  EXPECT_EQ(memcmp(query.strides, strides, sizeof(strides)), 0);
  EXPECT_EQ(memcmp(query.box, box, sizeof(box)), 0);
  auto key = getParameter<FakeTensorMap>(*fakeGetLaunch(0), 1);
  EXPECT_EQ(key.rank, 4);
  EXPECT_EQ(key.promotion, 2);
  EXPECT_EQ(key.sizes[1], 200u);
  EXPECT_EQ(key.strides[0], 512u);
}

TEST_F(LaunchTest, EncodesEachTensorMapOnce) {
  createAttention();
  for (int i = 0; i != 10; ++i)
    ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuTensorMapEncodeTiled"), 2);
  ASSERT_EQ(launch(makeArguments(2, 301)), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuTensorMapEncodeTiled"), 3);
  EXPECT_EQ(getParameter<FakeTensorMap>(*fakeGetLaunch(10), 0).sizes[1], 301u);
  EXPECT_EQ(getParameter<FakeTensorMap>(*fakeGetLaunch(10), 1).sizes[1], 200u);
}

TEST_F(LaunchTest, ServesMoreShapesThanTheCacheHolds) {
  createAttention();
  for (int64_t queries = 1; queries != 3000; ++queries) {
    ASSERT_EQ(launch(makeArguments(1, queries)), FA_SUCCESS);
    auto map = getParameter<FakeTensorMap>(*fakeGetLaunch(queries - 1), 0);
    ASSERT_EQ(map.sizes[1], uint64_t(queries));
  }
}

// Frameworks put any stride on a dim of one element.
TEST_F(LaunchTest, IgnoresStridesOfDimsOfOneElement) {
  createAttention();
  auto arguments = makeArguments(1);
  arguments[0].strides[0] = 7;
  arguments[2].strides[0] = 7;
  ASSERT_EQ(launch(arguments), FA_SUCCESS) << faRuntimeGetErrorMessage();
  auto map = getParameter<FakeTensorMap>(*fakeGetLaunch(0), 0);
  EXPECT_EQ(map.strides[3] % 16, 0u);
}

// A copy of nothing still has its address translated, and frameworks give
// tensors without elements none.
TEST_F(LaunchTest, ReadsZerosForTensorsWithoutElements) {
  createAttention();
  void *stream = fakeCreateStream();
  std::vector<FaArgument> arguments = makeArguments();
  arguments[1].shape[1] = 0;
  arguments[1].value.data = nullptr;
  for (int i = 0; i != 2; ++i)
    ASSERT_EQ(launch(arguments, stream), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
  ASSERT_EQ(launch(makeArguments(), stream), FA_SUCCESS);
  auto key = getParameter<FakeTensorMap>(*fakeGetLaunch(0), 1);
  uint64_t sizes[] = {1, 1, 1, 1};
  EXPECT_EQ(memcmp(key.sizes, sizes, sizeof(sizes)), 0);
  EXPECT_EQ(key.box[1], 128u) << "boxes stay as they are";
  EXPECT_EQ(key.address % 32, 0u);
  EXPECT_TRUE(fakeIsZeroed(key.address));
  EXPECT_EQ(getParameter<FakeTensorMap>(*fakeGetLaunch(1), 1).address,
            key.address);
  for (int i = 0; i != 3; ++i)
    EXPECT_NE(getCounter(i), key.address) << "no launch counts there";
  fakeDestroyStream(stream);
}

TEST_F(LaunchTest, PromotesWhatTheL2CacheFetchesAsTheManifestSays) {
  create();
  unsigned number = 0;
  for (const char *bytes : {"0", "64", "128", "256"}) {
    std::string text = attentionManifest.str();
    size_t place = text.find("\"l2_promotion\": 128");
    ASSERT_NE(place, std::string::npos);
    text.replace(place + strlen("\"l2_promotion\": "), 3, bytes);
    faKernelDestroy(kernel);
    ASSERT_EQ(load(text, attentionImage), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
    ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
    auto key = getParameter<FakeTensorMap>(*fakeGetLaunch(number), 1);
    EXPECT_EQ(key.promotion, number) << bytes;
    ++number;
  }
}

// A view starts inside of its argument.
TEST_F(LaunchTest, OffsetsAddresses) {
  create();
  std::string text = attentionManifest.str();
  for (auto [from, to] :
       {std::pair("\"pointer\": \"lse\"",
                  "\"pointer\": \"lse\", \"offset\": \"tiles\""),
        std::pair("\"tensor_map\": \"query\"",
                  "\"tensor_map\": \"query\", \"offset\": 64")}) {
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), strlen(from), to);
  }
  ASSERT_EQ(load(text, attentionImage), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(getParameter<FakeTensorMap>(*fakeGetLaunch(0), 0).address,
            fakeBase(0) + 128);
  EXPECT_EQ(getParameter<uint64_t>(*fakeGetLaunch(0), 2),
            fakeBase(0) + (1 << 29) + 24 * 4);
}

TEST_F(LaunchTest, LaunchesNothingForAnEmptyGrid) {
  createAttention();
  ASSERT_EQ(launch(makeArguments(0)), FA_SUCCESS) << faRuntimeGetErrorMessage();
  ASSERT_EQ(launch(makeArguments(2, 0)), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunchCount(), 0);
}

TEST_F(LaunchTest, FindsTheDeviceOfThePointers) {
  fakeSetDevices(2, 9, 0);
  createAttention();
  std::vector<FaArgument> arguments = makeArguments();
  for (int i = 0; i != 3; ++i)
    arguments[i] = makeTensor(
        FaDataType(arguments[i].type),
        llvm::ArrayRef(arguments[i].shape, arguments[i].rank), i << 28, 1);
  ASSERT_EQ(launch(arguments), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunch(0)->device, 1);
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  EXPECT_EQ(fakeGetLaunch(1)->device, 0);
  // A caller that knows the device saves the queries.
  int queries = fakeGetCalls("cuPointerGetAttribute");
  for (FaArgument &argument : arguments)
    argument.device = 1;
  ASSERT_EQ(launch(arguments), FA_SUCCESS);
  EXPECT_EQ(fakeGetLaunch(2)->device, 1);
  EXPECT_EQ(fakeGetCalls("cuPointerGetAttribute"), queries);
}

TEST_F(LaunchTest, LoadsAModuleOnceForEachContentAndDevice) {
  fakeSetDevices(2, 9, 0);
  createAttention();
  FaKernel first = kernel;
  ASSERT_EQ(load(attentionManifest, attentionImage), FA_SUCCESS);
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  ASSERT_EQ(faKernelPrepare(first, 0), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuModuleLoadDataEx"), 1);
  ASSERT_EQ(faKernelPrepare(first, 1), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuModuleLoadDataEx"), 2);
  faKernelDestroy(first);
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuModuleUnload"), 0);
}

TEST_F(LaunchTest, LaunchesClusters) {
  create();
  std::string manifest = attentionManifest.str();
  manifest.insert(manifest.find("\"shared_memory\""), "\"cluster\": [2], ");
  ASSERT_EQ(load(manifest, attentionImage), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunch(0)->cluster[0], 2u);
  EXPECT_EQ(fakeGetCalls("cuLaunchKernelEx"), 1);
  // One batch item and one head of one block: a grid of one block.
  EXPECT_EQ(launch(makeArguments(1, 100, 1, 100, 1)), FA_LAUNCH_LIMIT);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "kernel 'attn' needs a grid of 1 blocks in dim 0, which is no "
               "multiple of its cluster of 2");
}

TEST_F(LaunchTest, LaunchesDependents) {
  create();
  std::string manifest = attentionManifest.str();
  manifest.insert(manifest.find("\"shared_memory\""), "\"dependent\": true, ");
  ASSERT_EQ(load(manifest, attentionImage), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunch(0)->isDependent, 1u);
  EXPECT_EQ(fakeGetLaunch(0)->cluster[0], 1u);
  EXPECT_EQ(fakeGetCalls("cuLaunchKernelEx"), 1);
}

TEST_F(LaunchTest, AsksTheDriverForLittle) {
  createAttention();
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  // What a launch that finds everything cached may call, once each.
  const char *calls[] = {"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
                         "cuCtxGetCurrent",     "cuStreamGetCaptureInfo_v2",
                         "cuStreamGetId",       "cuLaunchKernel"};
  std::vector<int> before;
  for (const char *call : calls)
    before.push_back(fakeGetCalls(call));
  int events = fakeGetCalls("cuEventRecord") + fakeGetCalls("cuEventQuery");
  ASSERT_EQ(launch(makeArguments()), FA_SUCCESS);
  for (size_t i = 0; i != std::size(calls); ++i)
    EXPECT_LE(fakeGetCalls(calls[i]), before[i] + 1) << calls[i];
  EXPECT_EQ(fakeGetCalls("cuEventRecord") + fakeGetCalls("cuEventQuery"),
            events);
}

TEST_F(LaunchTest, RepeatsACallAtOtherAddresses) {
  createAttention();
  for (uint64_t offset : {0, 4096, 0}) {
    int number = fakeGetLaunchCount();
    ASSERT_EQ(launch(makePlacedArguments(offset)), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
    const FakeLaunch &made = *fakeGetLaunch(number);
    EXPECT_EQ(getParameter<FakeTensorMap>(made, 0).address,
              fakeBase(0) + offset);
    EXPECT_EQ(getParameter<uint64_t>(made, 2),
              fakeBase(0) + (1 << 29) + offset);
    EXPECT_EQ(getParameter<int32_t>(made, 3), 24);
  }
}

TEST_F(LaunchTest, EvaluatesWhatDiffersFromRecentCalls) {
  createAttention();
  // More than are kept, each of them twice.
  for (int64_t queries : {300, 1, 129, 257, 385, 513, 300, 1})
    for (double scale : {0.5, -3.0}) {
      std::vector<FaArgument> arguments = makePlacedArguments(0, queries);
      arguments.back() = makeNumber(scale);
      int number = fakeGetLaunchCount();
      ASSERT_EQ(launch(arguments), FA_SUCCESS) << faRuntimeGetErrorMessage();
      const FakeLaunch &made = *fakeGetLaunch(number);
      EXPECT_EQ(getParameter<int32_t>(made, 3), (queries + 127) / 128 * 8);
      EXPECT_EQ(getParameter<float>(made, 4), float(2 * scale));
      EXPECT_EQ(getParameter<FakeTensorMap>(made, 0).sizes[1],
                uint64_t(queries));
    }
  // The same shape with rows that lie further apart.
  std::vector<FaArgument> arguments = makePlacedArguments(0);
  ASSERT_EQ(launch(arguments), FA_SUCCESS);
  arguments[0].strides[1] *= 2;
  arguments[0].strides[0] *= 2;
  int number = fakeGetLaunchCount();
  ASSERT_EQ(launch(arguments), FA_SUCCESS);
  EXPECT_EQ(getParameter<int64_t>(*fakeGetLaunch(number), 5), 1024);
}

TEST_F(LaunchTest, ChecksAddressesOfARepeatedCall) {
  createAttention();
  ASSERT_EQ(launch(makePlacedArguments(0)), FA_SUCCESS);
  std::vector<FaArgument> arguments = makePlacedArguments(0);
  arguments[1].value.integer += 2;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'key' is at address 0x" +
                    llvm::utohexstr(arguments[1].value.integer, true) +
                    ", which is no multiple of 16 bytes");
  arguments[1].value.data = nullptr;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'key' is a null pointer, with shape (2, 200, 2, "
                "128)");
}
