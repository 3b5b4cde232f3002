//===- Device.cpp - A CUDA device and its primary context -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Device.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Twine;

llvm::Expected<std::unique_ptr<Device>> Device::create(const Driver &driver,
                                                       int ordinal) {
  if (ordinal < 0 || ordinal >= driver.getDeviceCount())
    return makeError(FA_INVALID_ARGUMENT,
                     "there is no device " + Twine(ordinal) +
                         "; the driver has " + Twine(driver.getDeviceCount()) +
                         ", the first is 0");
  std::unique_ptr<Device> device(new Device(driver, ordinal));
  if (Error error = device->initialize())
    return std::move(error);
  return std::move(device);
}

Error Device::initialize() {
  RelaxedCapture relaxed(driver);
  if (Error error = driver.check(driver.cuDeviceGet(&handle, ordinal),
                                 "opening device " + Twine(ordinal)))
    return error;
  char text[256] = "";
  if (driver.cuDeviceGetName(text, sizeof(text), handle) == cuda::Success)
    name = text;

  std::pair<cuda::DeviceAttribute, int *> attributes[] = {
      {cuda::ComputeCapabilityMajor, &limits.computeMajor},
      {cuda::ComputeCapabilityMinor, &limits.computeMinor},
      {cuda::MultiprocessorCount, &limits.multiprocessors},
      {cuda::MaxThreadsPerBlock, &limits.threadsPerBlock},
      {cuda::MaxSharedMemoryPerBlockOptin, &limits.sharedMemoryPerBlock},
      {cuda::MaxBlockDimX, &limits.block[0]},
      {cuda::MaxBlockDimY, &limits.block[1]},
      {cuda::MaxBlockDimZ, &limits.block[2]},
      {cuda::MaxGridDimX, &limits.grid[0]},
      {cuda::MaxGridDimY, &limits.grid[1]},
      {cuda::MaxGridDimZ, &limits.grid[2]}};
  for (auto [attribute, value] : attributes)
    if (Error error =
            driver.check(driver.cuDeviceGetAttribute(value, attribute, handle),
                         "asking device " + Twine(ordinal) + " for attribute " +
                             Twine(int(attribute))))
      return error;
  return driver.check(driver.cuDevicePrimaryCtxRetain(&context, handle),
                      "taking the primary context of " + describe());
}

Device::~Device() {
  if (!context)
    return;
  {
    ScopedContext scope(driver);
    // Without a context, as at the end of the process, there is nothing to
    // free.
    if (Error error = scope.enter(*this))
      consumeError(std::move(error));
    counters.reset();
    workspaces.reset();
  }
  driver.cuDevicePrimaryCtxRelease_v2(handle);
}

std::string Device::describe() const {
  return ("device " + Twine(ordinal) + " (" + name + ", sm_" +
          Twine(limits.computeMajor) + Twine(limits.computeMinor) + ")")
      .str();
}

Error ScopedContext::enter(const Device &device) {
  cuda::Context current = nullptr;
  cuda::Result result = driver.cuCtxGetCurrent(&current);
  if (LLVM_UNLIKELY(result != cuda::Success))
    return driver.fail(result, "asking for the current context");
  if (LLVM_LIKELY(current == device.getContext()))
    return Error::success();
  result = driver.cuCtxPushCurrent_v2(device.getContext());
  pushed = result == cuda::Success;
  if (LLVM_LIKELY(pushed))
    return Error::success();
  return driver.fail(result,
                     "making the context of " + device.describe() + " current");
}

ScopedContext::~ScopedContext() {
  cuda::Context context;
  if (pushed)
    driver.cuCtxPopCurrent_v2(&context);
}
