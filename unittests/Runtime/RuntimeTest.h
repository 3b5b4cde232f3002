//===- RuntimeTest.h - A runtime on the fake driver ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tests of the runtime on the fake driver share: the manifest and the
// image of one kernel, arguments for it, and the class `RuntimeTest`. A test
// calls `createAttention`, then `launch` or `expectFailure`, and looks at what
// was passed by `getParameter`. `TearDown` checks that nothing has leaked.
//
//===----------------------------------------------------------------------===//

#ifndef FA_UNITTESTS_RUNTIME_RUNTIMETEST_H
#define FA_UNITTESTS_RUNTIME_RUNTIMETEST_H

#include "FakeCUDA.h"
#include "fa-c/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace mlir::fa::runtime {

/// A kernel with every kind of parameter: two tensor maps, a pointer, numbers
/// of each type and a counter.
inline constexpr llvm::StringLiteral attentionManifest = R"json({
  "version": 1, "kernel": "attn", "chip": "sm_90a",
  "block": [384], "shared_memory": 200000,
  "arguments": [
    {"name": "query", "dtype": "bf16",
     "shape": ["batch", "queries", "heads", 128], "strides": ["?", "?", "?", 1]},
    {"name": "key", "dtype": "bf16",
     "shape": ["batch", "keys", "key_heads", 128], "strides": ["?", "?", "?", 1]},
    {"name": "lse", "dtype": "f32", "shape": ["batch", "heads", "queries"],
     "strides": "contiguous", "output": true},
    {"name": "scale", "dtype": "f32", "default": 0.125}
  ],
  "values": [
    {"name": "blocks", "op": "ceildiv", "operands": ["queries", 128]},
    {"name": "rows", "op": "mul", "operands": ["batch", "heads"]},
    {"name": "tiles", "op": "mul", "operands": ["blocks", "rows"]},
    {"name": "grid_size", "op": "min", "operands": ["tiles", "multiprocessors"]},
    {"name": "scale2", "op": "mul", "operands": ["scale", 2.0]},
    {"name": "ungrouped", "op": "rem", "operands": ["heads", "key_heads"]},
    {"name": "is_grouped", "op": "equal", "operands": ["ungrouped", 0]}
  ],
  "requirements": [
    {"condition": "is_grouped",
     "message": "query heads must be a multiple of key heads",
     "show": ["heads", "key_heads"]}
  ],
  "parameters": [
    {"tensor_map": "query", "swizzle": 128, "dims": [
      {"size": 64, "box": 64},
      {"size": "queries", "stride": "query.stride.1", "box": 64},
      {"size": 2, "stride": 64, "box": 2},
      {"size": "heads", "stride": "query.stride.2", "box": 1},
      {"size": "batch", "stride": "query.stride.0", "box": 1}]},
    {"tensor_map": "key", "swizzle": 128, "l2_promotion": 128, "dims": [
      {"size": 128, "box": 64},
      {"size": "keys", "stride": "key.stride.1", "box": 128},
      {"size": "key_heads", "stride": "key.stride.2", "box": 1},
      {"size": "batch", "stride": "key.stride.0", "box": 1}]},
    {"pointer": "lse"},
    {"i32": "tiles"},
    {"f32": "scale2"},
    {"i64": "query.stride.1"},
    {"counter": 2}
  ],
  "grid": ["grid_size"]
})json";

inline constexpr llvm::StringLiteral attentionImage =
    "fake-kernel: attn 384 1024 128 128 8 4 4 8 8\n";

/// One tensor, dense and row-major, at `offset` bytes in a device's memory.
inline FaArgument makeTensor(FaDataType type, llvm::ArrayRef<int64_t> shape,
                             uint64_t offset, int device = 0) {
  FaArgument argument = {};
  argument.value.data =
      reinterpret_cast<void *>(uintptr_t(fakeBase(device) + offset));
  argument.type = type;
  argument.rank = shape.size();
  argument.device = FA_DEVICE_OF_POINTER;
  int64_t stride = 1;
  for (int i = int(shape.size()) - 1; i >= 0; --i) {
    argument.shape[i] = shape[i];
    argument.strides[i] = stride;
    stride *= shape[i];
  }
  return argument;
}

inline FaArgument makeNumber(double value) {
  FaArgument argument = {};
  argument.value.real = value;
  argument.type = FA_TYPE_F64;
  argument.rank = FA_SCALAR;
  return argument;
}

class RuntimeTest : public ::testing::Test {
protected:
  void SetUp() override { fakeReset(); }

  void TearDown() override {
    faKernelDestroy(kernel);
    faRuntimeDestroy(runtime);
    EXPECT_EQ(fakeGetLiveObjects(), 0) << "something was leaked";
    EXPECT_FALSE(fakeHasContext());
  }

  void create() {
    ASSERT_EQ(faRuntimeCreate(FA_FAKE_CUDA, &runtime), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
  }

  FaStatus load(llvm::StringRef manifest, llvm::StringRef cubin,
                llvm::StringRef ptx = "") {
    return faKernelLoadFromMemory(
        runtime, manifest.data(), manifest.size(),
        cubin.empty() ? nullptr : cubin.data(), cubin.size(),
        ptx.empty() ? nullptr : ptx.data(), ptx.size(), &kernel);
  }

  /// An executable script in the working folder, as an assembler.
  static std::string writeScript(const std::string &body) {
    std::string path =
        ::testing::TempDir() + "fa-ptxas-" + std::to_string(getpid()) + ".sh";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }

  void createAttention() {
    create();
    ASSERT_EQ(load(attentionManifest, attentionImage), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
  }

  static std::vector<FaArgument>
  makeArguments(int64_t batch = 2, int64_t queries = 300, int64_t heads = 4,
                int64_t keys = 200, int64_t keyHeads = 2) {
    return {makeTensor(FA_TYPE_BF16, {batch, queries, heads, 128}, 0),
            makeTensor(FA_TYPE_BF16, {batch, keys, keyHeads, 128}, 1 << 28),
            makeTensor(FA_TYPE_F32, {batch, heads, queries}, 1 << 29),
            makeNumber(0.5)};
  }

  FaStatus launch(const std::vector<FaArgument> &arguments,
                  void *stream = nullptr) {
    return faKernelLaunch(kernel, arguments.data(), arguments.size(), stream);
  }

  /// Expects a failure that launches nothing and after which launches work.
  void expectFailure(const std::vector<FaArgument> &arguments, FaStatus status,
                     const std::string &message, void *stream = nullptr) {
    int launches = fakeGetLaunchCount();
    EXPECT_EQ(launch(arguments, stream), status);
    EXPECT_EQ(faRuntimeGetErrorMessage(), message);
    EXPECT_EQ(fakeGetLaunchCount(), launches);
    EXPECT_EQ(launch(makeArguments()), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
    EXPECT_EQ(fakeGetLaunchCount(), launches + 1);
  }

  template <typename T>
  static T getParameter(const FakeLaunch &launch, unsigned index) {
    T value;
    std::memcpy(&value, launch.parameters + launch.offsets[index], sizeof(T));
    return value;
  }
  /// The counter of the attention kernel.
  static uint64_t getCounter(int launch) {
    return getParameter<uint64_t>(*fakeGetLaunch(launch), 6);
  }

  FaRuntime runtime = nullptr;
  FaKernel kernel = nullptr;
};

} // namespace mlir::fa::runtime

#endif // FA_UNITTESTS_RUNTIME_RUNTIMETEST_H
