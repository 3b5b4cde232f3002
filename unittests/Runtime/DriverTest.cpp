//===- DriverTest.cpp - Opening a driver and loading kernels --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes wrong before a launch, in the order in which a program meets it: no
// driver, no device, the wrong architecture, PTX to be assembled, an image
// without the kernel, limits of a block. `EveryCallMayFail` at the end lets
// each call of a first launch fail in turn.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <cstdlib>

using namespace mlir::fa::runtime;

namespace {
class DriverTest : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    setenv("FA_PTXAS", "none", /*overwrite=*/1);
  }

  void expectNoRuntime(FaStatus status, const std::string &message,
                       const char *path = FA_FAKE_CUDA) {
    EXPECT_EQ(faRuntimeCreate(path, &runtime), status);
    EXPECT_EQ(faRuntimeGetErrorMessage(), message);
    EXPECT_EQ(runtime, nullptr);
  }

  void expectNoKernel(FaStatus status, const std::string &message) {
    EXPECT_EQ(faKernelPrepare(kernel, 0), status);
    EXPECT_EQ(faRuntimeGetErrorMessage(), message);
  }

  /// The manifest with one text replaced by another.
  static std::string replace(std::string from, const std::string &to) {
    std::string manifest = attentionManifest.str();
    size_t at = manifest.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return manifest.replace(at, from.size(), to);
  }
};
} // namespace

static const std::string fake = "'" FA_FAKE_CUDA "'";

TEST_F(DriverTest, NoDriver) {
  EXPECT_EQ(faRuntimeCreate("/nowhere/libcuda.so.1", &runtime), FA_NO_DRIVER);
  EXPECT_EQ(std::string(faRuntimeGetErrorMessage())
                .find("cannot open the CUDA driver '/nowhere/libcuda.so.1': "),
            0u);
}

TEST_F(DriverTest, NoCUDADriver) {
  expectNoRuntime(FA_NO_DRIVER,
                  "'libc.so.6' does not tell its CUDA version: it is no CUDA "
                  "driver",
                  "libc.so.6");
}

TEST_F(DriverTest, DriverTooOld) {
  fakeSetDriverVersion(11080);
  expectNoRuntime(FA_DRIVER_TOO_OLD, "the CUDA driver " + fake +
                                         " supports CUDA 11.8; at least 12.0 "
                                         "is needed");
  fakeSetDriverVersion(12000);
  create();
}

TEST_F(DriverTest, NoDevice) {
  fakeSetDevices(0, 9, 0);
  expectNoRuntime(FA_NO_DRIVER, "initialising the CUDA driver " + fake +
                                    ": refused by the fake "
                                    "(CUDA_ERROR_NO_DEVICE, 100)");
}

TEST_F(DriverTest, NoSuchDevice) {
  createAttention();
  EXPECT_EQ(faKernelPrepare(kernel, 3), FA_INVALID_ARGUMENT);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "there is no device 3; the driver has 1, the first is 0");
  EXPECT_EQ(faKernelPrepare(kernel, -1), FA_INVALID_ARGUMENT);
}

TEST_F(DriverTest, WrongArchitecture) {
  fakeSetDevices(1, 8, 0);
  createAttention();
  expectNoKernel(FA_WRONG_ARCHITECTURE,
                 "kernel 'attn' was compiled for sm_90a, as machine code only; "
                 "device 0 (Fake GPU, sm_80) does not run that");
}

TEST_F(DriverTest, ArchitectureRules) {
  struct Case {
    const char *chip;
    int major, minor;
    bool cubin, ptx;
  } cases[] = {
      {"sm_80", 8, 0, true, true},     {"sm_80", 8, 6, true, true},
      {"sm_86", 8, 0, false, false},   {"sm_80", 9, 0, false, true},
      {"sm_90a", 9, 0, true, true},    {"sm_90a", 10, 0, false, false},
      {"sm_100f", 10, 3, true, true},  {"sm_100f", 12, 0, false, false},
      {"sm_100a", 10, 3, false, false}};
  for (const Case &test : cases) {
    for (bool isCubin : {true, false}) {
      fakeReset();
      fakeSetDevices(1, test.major, test.minor);
      create();
      std::string manifest = replace("sm_90a", test.chip);
      llvm::StringRef image = attentionImage;
      ASSERT_EQ(isCubin ? load(manifest, image) : load(manifest, "", image),
                FA_SUCCESS);
      EXPECT_EQ(faKernelPrepare(kernel, 0), (isCubin ? test.cubin : test.ptx)
                                                ? FA_SUCCESS
                                                : FA_WRONG_ARCHITECTURE)
          << test.chip << " on " << test.major << "." << test.minor;
      faKernelDestroy(kernel);
      faRuntimeDestroy(runtime);
      kernel = nullptr;
      runtime = nullptr;
    }
  }
}

TEST_F(DriverTest, PTXThatTheDriverRefuses) {
  create();
  ASSERT_EQ(load(attentionManifest, "", "no kernel in here"), FA_SUCCESS);
  expectNoKernel(FA_INVALID_IMAGE,
                 "loading kernel 'attn' on device 0 (Fake GPU, sm_90) (fake: "
                 "unknown instruction): refused by the fake "
                 "(CUDA_ERROR_INVALID_IMAGE, 200)");
}

TEST_F(DriverTest, ImageNewerThanTheDriver) {
  createAttention();
  fakeFail("cuModuleLoadDataEx", 222, 0, 1);
  EXPECT_EQ(faKernelPrepare(kernel, 0), FA_DRIVER_TOO_OLD);
  EXPECT_EQ(faKernelPrepare(kernel, 0), FA_SUCCESS);
}

TEST_F(DriverTest, AssemblesPTXWithPtxas) {
  create();
  ASSERT_EQ(load(attentionManifest, "", "fake PTX"), FA_SUCCESS);
  // Called as: ptxas -arch=CHIP INPUT -o OUTPUT, then options.
  std::string script = writeScript(
      "test \"$1\" = -arch=sm_90a || exit 3\n"
      "grep -q 'fake PTX' \"$2\" || exit 4\n"
      "echo 'fake-kernel: attn 384 1024 128 128 8 4 4 8 8' >\"$4\"");
  setenv("FA_PTXAS", script.c_str(), /*overwrite=*/1);
  EXPECT_EQ(launch(makeArguments()), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunchCount(), 1);
  unlink(script.c_str());
}

TEST_F(DriverTest, AssemblesAgainWhatSpills) {
  create();
  ASSERT_EQ(load(attentionManifest, "", "fake PTX"), FA_SUCCESS);
  // Only the image of -O1 has the kernel.
  std::string script = writeScript(
      "case \"$*\" in\n"
      "*-O1*) echo '    0 bytes stack frame, 0 bytes spill stores, 0 bytes "
      "spill loads'\n"
      "  echo 'fake-kernel: attn 384 1024 128 128 8 4 4 8 8' >\"$4\";;\n"
      "*) echo '    8 bytes stack frame, 8 bytes spill stores, 16 bytes spill "
      "loads'\n"
      "  echo nothing >\"$4\";;\n"
      "esac");
  setenv("FA_PTXAS", script.c_str(), /*overwrite=*/1);
  EXPECT_EQ(launch(makeArguments()), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunchCount(), 1);
  unlink(script.c_str());
}

TEST_F(DriverTest, ReportsWhatPtxasSays) {
  create();
  ASSERT_EQ(load(attentionManifest, "", "fake PTX"), FA_SUCCESS);
  std::string script = writeScript("echo 'bad operand' >&2; exit 1");
  setenv("FA_PTXAS", script.c_str(), /*overwrite=*/1);
  expectNoKernel(FA_INVALID_IMAGE,
                 "'" + script +
                     "' failed for sm_90a: bad operand\n"
                     "; FA_PTXAS=none leaves PTX to the driver");
  setenv("FA_PTXAS", "/nowhere/ptxas", /*overwrite=*/1);
  EXPECT_EQ(faKernelPrepare(kernel, 0), FA_INVALID_IMAGE);
  unlink(script.c_str());
}

TEST_F(DriverTest, NoSuchFunctionInTheImage) {
  create();
  ASSERT_EQ(load(replace("\"attn\"", "\"other\""), attentionImage), FA_SUCCESS);
  expectNoKernel(FA_INVALID_IMAGE,
                 "the image of kernel 'other' has no function of that name");
}

TEST_F(DriverTest, ParametersDifferFromTheImage) {
  create();
  ASSERT_EQ(load(replace("{\"i32\": \"tiles\"}", "{\"i64\": \"tiles\"}"),
                 attentionImage),
            FA_SUCCESS);
  expectNoKernel(FA_INVALID_MANIFEST,
                 "parameter 3 of kernel 'attn' has 4 bytes in its image, but 8 "
                 "in its description");
  faKernelDestroy(kernel);
  ASSERT_EQ(load(replace("{\"pointer\": \"lse\"},", ""), attentionImage),
            FA_SUCCESS);
  EXPECT_EQ(faKernelPrepare(kernel, 0), FA_INVALID_MANIFEST);
}

TEST_F(DriverTest, BlockOverTheLimit) {
  create();
  ASSERT_EQ(load(replace("[384]", "[512]"), attentionImage), FA_SUCCESS);
  expectNoKernel(FA_LAUNCH_LIMIT,
                 "kernel 'attn' needs 512 threads in a block; device 0 (Fake "
                 "GPU, sm_90) allows this kernel 384");
  faKernelDestroy(kernel);
  ASSERT_EQ(load(replace("[384]", "[1, 1, 128]"), attentionImage), FA_SUCCESS);
  expectNoKernel(
      FA_LAUNCH_LIMIT,
      "kernel 'attn' needs 128 threads in dim 2 of a block; device 0 "
      "(Fake GPU, sm_90) allows 64");
}

TEST_F(DriverTest, SharedMemoryOverTheLimit) {
  create();
  ASSERT_EQ(load(replace("200000", "232000"), attentionImage), FA_SUCCESS);
  expectNoKernel(
      FA_LAUNCH_LIMIT,
      "kernel 'attn' needs 233024 bytes of shared memory in a block; "
      "device 0 (Fake GPU, sm_90) allows 232448");
}

TEST_F(DriverTest, ClustersBeforeHopper) {
  fakeSetDevices(1, 8, 0);
  create();
  std::string manifest = replace("sm_90a", "sm_80");
  manifest.insert(manifest.find("\"shared_memory\""), "\"cluster\": [4], ");
  ASSERT_EQ(load(manifest, attentionImage), FA_SUCCESS);
  expectNoKernel(
      FA_LAUNCH_LIMIT,
      "kernel 'attn' needs clusters of 4 blocks; device 0 (Fake GPU, "
      "sm_80) allows none below sm_90");
}

// Whatever call of the first launch fails, nothing is launched or leaked (see
// TearDown), and the launch works when it is tried again.
TEST_F(DriverTest, EveryCallMayFail) {
  const char *functions[] = {"cuDeviceGet",
                             "cuDeviceGetAttribute",
                             "cuDevicePrimaryCtxRetain",
                             "cuCtxGetCurrent",
                             "cuCtxPushCurrent_v2",
                             "cuModuleLoadDataEx",
                             "cuModuleGetFunction",
                             "cuFuncGetAttribute",
                             "cuFuncSetAttribute",
                             "cuTensorMapEncodeTiled",
                             "cuStreamGetCaptureInfo_v2",
                             "cuStreamGetId",
                             "cuStreamCreate",
                             "cuEventCreate",
                             "cuMemAlloc_v2",
                             "cuMemsetD8Async",
                             "cuEventRecord",
                             "cuEventQuery",
                             "cuPointerGetAttribute",
                             "cuLaunchKernel"};
  for (const char *function : functions) {
    fakeReset();
    createAttention();
    fakeFail(function, 2, 0, 1);
    EXPECT_EQ(launch(makeArguments()), FA_OUT_OF_MEMORY) << function;
    std::string message = faRuntimeGetErrorMessage();
    EXPECT_NE(message.find(": out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"),
              std::string::npos)
        << message;
    EXPECT_EQ(fakeGetLaunchCount(), 0) << function;
    EXPECT_FALSE(fakeHasContext()) << function;
    EXPECT_EQ(launch(makeArguments()), FA_SUCCESS)
        << function << ": " << faRuntimeGetErrorMessage();
    EXPECT_EQ(fakeGetLaunchCount(), 1) << function;
    faKernelDestroy(kernel);
    faRuntimeDestroy(runtime);
    kernel = nullptr;
    runtime = nullptr;
    EXPECT_EQ(fakeGetLiveObjects(), 0) << function;
  }
}

TEST_F(DriverTest, NullArguments) {
  EXPECT_EQ(faRuntimeCreate(FA_FAKE_CUDA, nullptr), FA_INVALID_ARGUMENT);
  EXPECT_STREQ(faRuntimeGetErrorMessage(), "the argument 'runtime' is null");
  EXPECT_EQ(faKernelLoad(nullptr, "x.json", &kernel), FA_INVALID_ARGUMENT);
  EXPECT_EQ(faKernelLaunch(nullptr, nullptr, 0, nullptr), FA_INVALID_ARGUMENT);
  EXPECT_STREQ(faRuntimeGetErrorMessage(), "the argument 'kernel' is null");
  EXPECT_EQ(faKernelPrepare(nullptr, 0), FA_INVALID_ARGUMENT);
  EXPECT_EQ(faRuntimeGetWorkspaceSize(nullptr, 0, nullptr),
            FA_INVALID_ARGUMENT);
  faKernelDestroy(nullptr);
  faRuntimeDestroy(nullptr);
}
