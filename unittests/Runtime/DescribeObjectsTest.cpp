//===- DescribeObjectsTest.cpp - Tensors of a framework as arguments ------===//
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

class DescribeObjectsTest : public RuntimeTest {
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

  FaStatus describeObjects(size_t count = 4) {
    void *pointers[] = {&objects[0], &objects[1], &objects[2], nullptr};
    double scale = 0.5;
    return faKernelDescribeObjects(kernel, &exchange, pointers, count, &scale,
                                   described.data(), &stream);
  }

  std::vector<FaArgument> described = std::vector<FaArgument>(4);
  FaStream stream = nullptr;
  dlpack::ExchangeFunctions exchange;
  std::vector<FaArgument> arguments;
  Object objects[3];
};

} // namespace

TEST_F(DescribeObjectsTest, DescribesTensorsAndNumbers) {
  currentStream = fakeCreateStream();
  ASSERT_EQ(describeObjects(), FA_SUCCESS);
  EXPECT_EQ(stream, currentStream);
  for (unsigned i = 0; i != 3; ++i) {
    EXPECT_EQ(described[i].value.data, arguments[i].value.data);
    EXPECT_EQ(described[i].type, arguments[i].type);
    EXPECT_EQ(described[i].rank, arguments[i].rank);
    EXPECT_EQ(described[i].device, 0);
    for (int dim = 0; dim != arguments[i].rank; ++dim) {
      EXPECT_EQ(described[i].shape[dim], arguments[i].shape[dim]);
      EXPECT_EQ(described[i].strides[dim], arguments[i].strides[dim]);
    }
  }
  EXPECT_EQ(described[3].value.real, 0.5);
  ASSERT_EQ(launch(described, stream), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  EXPECT_EQ(getParameter<float>(*fakeGetLaunch(0), 4), 1.0f);
  fakeDestroyStream(currentStream);
}

TEST_F(DescribeObjectsTest, AddsOffsetsAndFillsStrides) {
  objects[2].tensor.byteOffset = 256;
  objects[2].tensor.strides = nullptr;
  ASSERT_EQ(describeObjects(), FA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(described[2].value.data),
            fakeBase(0) + (1 << 29) + 256);
  for (int dim = 0; dim != arguments[2].rank; ++dim)
    EXPECT_EQ(described[2].strides[dim], arguments[2].strides[dim]);
}

TEST_F(DescribeObjectsTest, TakesAnyStrides) {
  int64_t shape[] = {int64_t(1) << 31, int64_t(1) << 31, 4};
  int64_t strides[] = {0, 0, 0};
  objects[2].tensor.shape = shape;
  objects[2].tensor.strides = strides;
  ASSERT_EQ(describeObjects(), FA_SUCCESS);
  EXPECT_EQ(described[2].shape[0], int64_t(1) << 31);
  EXPECT_EQ(described[2].strides[1], 0);
}

TEST_F(DescribeObjectsTest, LeavesWhatItCannotDescribe) {
  objects[1].status = -1;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
}

TEST_F(DescribeObjectsTest, LeavesMemoryOfTheHost) {
  objects[1].tensor.deviceType = dlpack::DeviceType(1);
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
}

TEST_F(DescribeObjectsTest, LeavesUnknownTypes) {
  objects[1].tensor.bits = 128;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
  objects[1].tensor.bits = 16;
  objects[1].tensor.lanes = 2;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
}

TEST_F(DescribeObjectsTest, LeavesRanksBeyondTheLimit) {
  objects[1].tensor.rank = FA_MAX_RANK + 1;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
  objects[1].tensor.rank = -1;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
}

TEST_F(DescribeObjectsTest, LeavesOtherVersionsAndCounts) {
  EXPECT_EQ(describeObjects(3), FA_NOT_TAKEN);
  exchange.describe = nullptr;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
  exchange.describe = describe;
  exchange.major = 2;
  EXPECT_EQ(describeObjects(), FA_NOT_TAKEN);
  exchange.major = 1;
  EXPECT_EQ(describeObjects(), FA_SUCCESS);
}
