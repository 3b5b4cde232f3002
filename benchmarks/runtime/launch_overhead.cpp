//===- launch_overhead.cpp - Host time of a launch over a bare one --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches a kernel that does nothing, with the parameters of an attention
// kernel (four tensor maps, a pointer, six numbers, a tile counter), by
// cuLaunchKernel with everything ready and through faKernelLaunch, in turns.
// Prints JSON: microseconds a launch, medians over rounds, and the median and
// its 95 % interval of the difference to the bare launch of the same round.
//
//   fa-launch-overhead [--rounds N] [--driver PATH]
//
//===----------------------------------------------------------------------===//

#include "fa-c/Runtime.h"
#include "fa/Runtime/CUDA/DriverAPI.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

using namespace mlir::fa::runtime;

/// Fewer than the driver queues before it makes the caller wait.
static constexpr int launchesPerSample = 200;

static const char ptx[] = R"ptx(
// fake-kernel: idle 1024 0 128 128 128 128 8 4 4 4 4 4 4 8
.version 7.8
.target sm_80
.address_size 64
.visible .entry idle(
  .param .align 64 .b8 query[128], .param .align 64 .b8 key[128],
  .param .align 64 .b8 value[128], .param .align 64 .b8 output[128],
  .param .u64 lse, .param .s32 queries, .param .s32 heads, .param .s32 batch,
  .param .s32 blocks, .param .s32 tiles, .param .f32 scale, .param .u64 counter)
{
  ret;
}
)ptx";

/// The manifest of that kernel, with one tensor map for each of four tensors.
static std::string makeManifest() {
  std::string arguments, parameters;
  for (const char *name : {"query", "key", "value", "output"}) {
    std::string quoted = std::string("\"") + name;
    arguments += "{\"name\": " + quoted +
                 R"json(", "dtype": "bf16", "strides": ["?", "?", "?", 1],
                  "shape": ["batch", "queries", "heads", 128]},)json";
    parameters += "{\"tensor_map\": " + quoted +
                  R"json(", "swizzle": 128, "dims": [{"size": 64, "box": 64},
                  {"size": "queries", "box": 64, "stride": )json" +
                  quoted + R"json(.stride.1"},
                  {"size": 2, "stride": 64, "box": 2},
                  {"size": "heads", "box": 1, "stride": )json" +
                  quoted + R"json(.stride.2"},
                  {"size": "batch", "box": 1, "stride": )json" +
                  quoted + ".stride.0\"}]},";
  }
  return R"json({"version": 1, "kernel": "idle", "chip": "sm_80",
    "block": [128], "arguments": [)json" +
         arguments + R"json(
      {"name": "lse", "dtype": "f32", "shape": ["batch", "heads", "queries"],
       "strides": "contiguous"},
      {"name": "scale", "dtype": "f32"}],
    "values": [
      {"name": "blocks", "op": "ceildiv", "operands": ["queries", 128]},
      {"name": "rows", "op": "mul", "operands": ["batch", "heads"]},
      {"name": "tiles", "op": "mul", "operands": ["blocks", "rows"]},
      {"name": "grid_size", "op": "min",
       "operands": ["tiles", "multiprocessors"]}],
    "parameters": [)json" +
         parameters + R"json(
      {"pointer": "lse"}, {"i32": "queries"}, {"i32": "heads"},
      {"i32": "batch"}, {"i32": "blocks"}, {"i32": "tiles"},
      {"f32": "scale"}, {"counter": 2}],
    "grid": ["grid_size"]})json";
}

[[noreturn]] static void stop(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

static void check(cuda::Result result, const char *action) {
  if (result != cuda::Success)
    stop(std::string(action) + " failed with " + std::to_string(result));
}

static void check(FaStatus status) {
  if (status != FA_SUCCESS)
    stop(faRuntimeGetErrorMessage());
}

namespace {
/// The driver, loaded beside the runtime's, and the bare form of the launch.
struct BareLaunch : cuda::DriverFunctions {
  explicit BareLaunch(const char *path) {
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    if (!library)
      stop(dlerror());
#define FA_LOAD(NAME, PARAMETERS)                                              \
  NAME = reinterpret_cast<NAME##Type>(dlsym(library, #NAME));
    FA_CUDA_DRIVER_FUNCTIONS(FA_LOAD)
#undef FA_LOAD
    // The fake driver has nothing to wait for.
    synchronize = reinterpret_cast<cuda::Result (*)()>(
        dlsym(library, "cuCtxSynchronize"));
    check(cuInit(0), "cuInit");
    cuda::Context context;
    check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
    check(cuStreamCreate(&stream, cuda::StreamNonBlocking), "cuStreamCreate");
    check(cuMemAlloc_v2(&memory, bytes), "cuMemAlloc");
    check(cuModuleLoadDataEx(&module, ptx, 0, nullptr, nullptr),
          "cuModuleLoadData");
    check(cuModuleGetFunction(&function, module, "idle"),
          "cuModuleGetFunction");
    for (cuda::TensorMap &value : values)
      parameters.push_back(&value);
  }

  ~BareLaunch() {
    cuModuleUnload(module);
    cuMemFree_v2(memory);
    cuStreamDestroy_v2(stream);
    cuDevicePrimaryCtxRelease_v2(0);
  }
  BareLaunch(const BareLaunch &) = delete;
  BareLaunch &operator=(const BareLaunch &) = delete;

  void launch() {
    check(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream,
                         parameters.data(), nullptr),
          "cuLaunchKernel");
  }

  void wait() {
    if (synchronize)
      check(synchronize(), "cuCtxSynchronize");
  }

  static constexpr size_t bytes = 1 << 24;
  cuda::Result (*synchronize)() = nullptr;
  cuda::Stream stream = nullptr;
  cuda::DevicePointer memory = 0;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  cuda::TensorMap values[12] = {};
  std::vector<void *> parameters;
};
} // namespace

static FaArgument makeTensor(FaDataType type, const std::vector<int64_t> &shape,
                             cuda::DevicePointer address, int device) {
  FaArgument argument = {};
  argument.value.data = reinterpret_cast<void *>(address);
  argument.type = type;
  argument.rank = shape.size();
  argument.device = device;
  int64_t stride = 1;
  for (int i = int(shape.size()) - 1; i >= 0; --i) {
    argument.shape[i] = shape[i];
    argument.strides[i] = stride;
    stride *= shape[i];
  }
  return argument;
}

/// One batch item and head of `queries` queries.
static std::vector<FaArgument> makeArguments(cuda::DevicePointer memory,
                                             int64_t queries, int device) {
  std::vector<FaArgument> arguments;
  for (int i = 0; i != 4; ++i)
    arguments.push_back(makeTensor(FA_TYPE_BF16, {1, queries, 1, 128},
                                   memory + (i << 20), device));
  arguments.push_back(
      makeTensor(FA_TYPE_F32, {1, 1, queries}, memory + (4 << 20), device));
  FaArgument scale = {};
  scale.value.real = 0.125;
  scale.type = FA_TYPE_F64;
  scale.rank = FA_SCALAR;
  arguments.push_back(scale);
  return arguments;
}

static double getMedian(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static void print(const char *name, const std::vector<double> &samples,
                  const std::vector<double> &bare, bool isLast) {
  std::vector<double> differences;
  for (size_t i = 0; i != samples.size(); ++i)
    differences.push_back(samples[i] - bare[i]);
  std::sort(differences.begin(), differences.end());
  // Order statistics that enclose the median with 95 %.
  int count = differences.size();
  int margin = std::ceil(0.98 * std::sqrt(double(count)));
  int low = std::max(0, count / 2 - margin);
  int high = std::min(count - 1, count / 2 + margin);
  std::printf("  \"%s\": {\"us\": %.3f, \"over_bare_us\": %.3f, "
              "\"interval_us\": [%.3f, %.3f]}%s\n",
              name, getMedian(samples), differences[count / 2],
              differences[low], differences[high], isLast ? "" : ",");
}

int main(int argc, char **argv) {
  int rounds = 101;
  const char *driverPath = nullptr;
  for (int i = 1; i < argc; i += 2) {
    if (!std::strcmp(argv[i], "--rounds") && i + 1 < argc)
      rounds = std::max(1, std::atoi(argv[i + 1]));
    else if (!std::strcmp(argv[i], "--driver") && i + 1 < argc)
      driverPath = argv[i + 1];
    else
      stop(std::string("unexpected '") + argv[i] +
           "'; there are --rounds N and --driver PATH");
  }

  // Both sides get their machine code from the driver.
  setenv("FA_PTXAS", "none", /*overwrite=*/1);
  FaRuntime runtime;
  FaKernel kernel;
  std::string manifest = makeManifest();
  check(faRuntimeCreate(driverPath, &runtime));
  check(faKernelLoadFromMemory(runtime, manifest.data(), manifest.size(),
                               nullptr, 0, ptx, sizeof(ptx) - 1, &kernel));
  BareLaunch bare(driverPath);

  std::vector<FaArgument> known = makeArguments(bare.memory, 128, 0);
  std::vector<FaArgument> asked =
      makeArguments(bare.memory, 128, FA_DEVICE_OF_POINTER);
  std::vector<std::vector<FaArgument>> shapes;
  for (int64_t queries = 64; queries != 128; ++queries)
    shapes.push_back(makeArguments(bare.memory, queries, 0));
  auto launch = [&](const std::vector<FaArgument> &arguments) {
    check(faKernelLaunch(kernel, arguments.data(), arguments.size(),
                         bare.stream));
  };

  static constexpr int modeCount = 4;
  // The first rounds load, allocate and fill caches.
  static constexpr int warmRounds = 3;
  std::vector<double> samples[modeCount];
  for (int round = 0; round != rounds + warmRounds; ++round) {
    for (int turn = 0; turn != modeCount; ++turn) {
      int mode = (turn + round) % modeCount;
      bare.wait();
      auto start = std::chrono::steady_clock::now();
      for (int i = 0; i != launchesPerSample; ++i) {
        if (mode == 0)
          bare.launch();
        else if (mode == 1)
          launch(known);
        else if (mode == 2)
          launch(asked);
        else
          launch(shapes[i % shapes.size()]);
      }
      std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - start;
      if (round >= warmRounds)
        samples[mode].push_back(elapsed.count() / launchesPerSample);
    }
  }
  bare.wait();
  std::printf("{\n  \"rounds\": %d,\n  \"bare_us\": %.3f,\n", rounds,
              getMedian(samples[0]));
  print("device_given", samples[1], samples[0], /*isLast=*/false);
  print("device_of_pointers", samples[2], samples[0], /*isLast=*/false);
  print("64_shapes_in_turn", samples[3], samples[0], /*isLast=*/true);
  std::printf("}\n");
  faKernelDestroy(kernel);
  faRuntimeDestroy(runtime);
  return 0;
}
