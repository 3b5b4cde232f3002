//===- LaunchErrorsTest.cpp - Arguments that a launch refuses -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each thing that a launch refuses, with its whole message: count,
// type, shape, strides and address of arguments, then numbers, then values that
// do not fit. All use the attention kernel of RuntimeTest.h, whose
// `expectFailure` also launches once more without the mistake.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace mlir::fa::runtime;

namespace {
class LaunchErrorsTest : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    fakeSetDevices(2, 9, 0);
    createAttention();
  }
  std::vector<FaArgument> arguments = makeArguments();
};
} // namespace

TEST_F(LaunchErrorsTest, ArgumentCount) {
  arguments.pop_back();
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "kernel 'attn' takes 4 arguments, got 3");
}

TEST_F(LaunchErrorsTest, Rank) {
  arguments[0].rank = 3;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has rank 3, expected 4");
}

TEST_F(LaunchErrorsTest, DataType) {
  arguments[0].type = FA_TYPE_F16;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has type f16, expected bf16");
  arguments[0].type = 99;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has type an unknown type, expected bf16");
}

TEST_F(LaunchErrorsTest, StaticDim) {
  arguments[0] = makeTensor(FA_TYPE_BF16, {2, 300, 4, 64}, 0);
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has dim 3 of size 64, expected 128: shape "
                "(2, 300, 4, 64)");
}

TEST_F(LaunchErrorsTest, DimsThatMustBeEqual) {
  arguments[1] = makeTensor(FA_TYPE_BF16, {3, 200, 2, 128}, 0);
  expectFailure(
      arguments, FA_INVALID_ARGUMENT,
      "argument 'key' has dim 0 (batch) of size 3, expected 2, as dim "
      "0 of argument 'query'");
}

TEST_F(LaunchErrorsTest, NegativeDim) {
  arguments[0].shape[1] = -1;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has a negative dim 1: shape (2, -1, 4, 128)");
}

TEST_F(LaunchErrorsTest, Requirement) {
  arguments = makeArguments(2, 300, 4, 200, 3);
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "kernel 'attn': query heads must be a multiple of key heads: "
                "heads is 4, key_heads is 3");
}

TEST_F(LaunchErrorsTest, InnermostStride) {
  arguments[0].strides[3] = 2;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has stride 2 in dim 3, expected 1: strides "
                "(153600, 512, 128, 2)");
}

TEST_F(LaunchErrorsTest, ContiguousStrides) {
  arguments[2].strides[0] = 1;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'lse' has stride 1 in dim 0, expected 1200: strides "
                "(1, 300, 1)");
}

TEST_F(LaunchErrorsTest, MisalignedStride) {
  arguments[0].strides[1] = 516;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "tensor map of argument 'query': dim 1 (0 is innermost) has a "
                "stride of 1032 bytes, expected a multiple of 16 below 2^40; "
                "the nearest are 1024 and 1040");
}

TEST_F(LaunchErrorsTest, StrideBeyondTheHardware) {
  arguments[0].strides[0] = int64_t(1) << 40;
  EXPECT_EQ(launch(arguments), FA_INVALID_ARGUMENT);
}

TEST_F(LaunchErrorsTest, RowThatEndsInsideAnAlignedPiece) {
  std::string manifest(attentionManifest);
  std::string contiguous = "\"strides\": \"contiguous\",";
  manifest.replace(manifest.find(contiguous), contiguous.size(),
                   contiguous +
                       " \"alignment\": 16, \"stride_alignment\": 16,");
  faKernelDestroy(kernel);
  ASSERT_EQ(load(manifest, attentionImage), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  expectFailure(makeArguments(1, 1001, 1, 200, 1), FA_INVALID_ARGUMENT,
                "argument 'lse' has a row of 1001 elements, which is 4004 "
                "bytes; a multiple of 16 bytes (4 elements of f32) is needed");
  EXPECT_EQ(launch(makeArguments(1, 1000, 1, 200, 1)), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
}

TEST_F(LaunchErrorsTest, NegativeStride) {
  arguments[0].strides[1] = -512;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has stride -512 in dim 1, expected 0 to "
                "281474976710656");
}

TEST_F(LaunchErrorsTest, MisalignedPointer) {
  arguments[0].value.data =
      reinterpret_cast<void *>(uintptr_t(fakeBase(0) + 8));
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' is at address 0xa0000000008, which is no "
                "multiple of 16 bytes");
}

TEST_F(LaunchErrorsTest, NullPointer) {
  arguments[2].value.data = nullptr;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'lse' is a null pointer, with shape (2, 4, 300)");
}

TEST_F(LaunchErrorsTest, HostPointer) {
  arguments[2].value.data = reinterpret_cast<void *>(uintptr_t(0x5000));
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'lse' at address 0x5000 is not in device memory");
}

TEST_F(LaunchErrorsTest, TwoDevices) {
  arguments[1] = makeTensor(FA_TYPE_BF16, {2, 200, 2, 128}, 0, /*device=*/1);
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'key' is on device 1, but argument 'query' is on "
                "device 0");
}

TEST_F(LaunchErrorsTest, TooManyRowsForATensorMap) {
  arguments = makeArguments(2, 300, 4, (int64_t(1) << 32) + 1, 2);
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "tensor map of argument 'key': dim 1 (0 is innermost) has size "
                "4294967297, expected 1 to 4294967296");
}

TEST_F(LaunchErrorsTest, TensorForANumber) {
  arguments[3] = arguments[0];
  expectFailure(
      arguments, FA_INVALID_ARGUMENT,
      "argument 'scale' is a number of type f32, got a tensor of rank "
      "4");
}

TEST_F(LaunchErrorsTest, NumberForATensor) {
  arguments[0] = makeNumber(1);
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' is a tensor of rank 4, got a number");
}

TEST_F(LaunchErrorsTest, ValueThatDoesNotFit) {
  // 2^24 blocks of queries by 2^7 heads are 2^31 tiles.
  arguments = makeArguments(1, int64_t(1) << 31, 128, 200, 2);
  arguments[0].strides[1] = 128;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "parameter 3 of kernel 'attn' is of type i32, got 2147483648; "
                "at most 2147483647 can be passed");
}

TEST_F(LaunchErrorsTest, MoreElementsThanCanBeCounted) {
  for (int dim : {0, 1, 2})
    arguments[0].shape[dim] = int64_t(1) << 40;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "argument 'query' has more than 2^63 elements: shape "
                "(1099511627776, 1099511627776, 1099511627776, 128)");
}

TEST_F(LaunchErrorsTest, ValueThatOverflows) {
  // Dims multiply to 0, since the last is, but batch times heads does not fit.
  arguments[0].shape[0] = arguments[0].shape[2] = int64_t(1) << 40;
  arguments[0].shape[1] = 0;
  arguments[1].shape[0] = int64_t(1) << 40;
  arguments[1].shape[1] = 0;
  for (int dim : {0, 1})
    arguments[2].shape[dim] = int64_t(1) << 40;
  arguments[2].shape[2] = 0;
  expectFailure(arguments, FA_INVALID_ARGUMENT,
                "value 'rows' does not fit 64 bits: mul of 1099511627776 and "
                "1099511627776");
}

TEST_F(LaunchErrorsTest, LaunchThatTheDriverRefuses) {
  fakeFail("cuLaunchKernel", 701, 0, 1);
  expectFailure(arguments, FA_LAUNCH_LIMIT,
                "launching kernel 'attn' on device 0 (Fake GPU, sm_90) with "
                "grid 24x1x1, block 384x1x1, cluster 1x1x1 and 200000 bytes of "
                "shared memory: refused by the fake "
                "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)");
  fakeFail("cuLaunchKernel", 400, 0, 1);
  EXPECT_EQ(launch(arguments), FA_DRIVER_ERROR);
  EXPECT_NE(std::string(faRuntimeGetErrorMessage())
                .find("is the stream one of this device?"),
            std::string::npos);
}
