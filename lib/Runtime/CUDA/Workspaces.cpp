//===- Workspaces.cpp - Device memory of single calls ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Workspaces.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

WorkspacePool::~WorkspacePool() {
  if (pool)
    driver.cuMemPoolDestroy(pool);
}

Error WorkspacePool::prepare() {
  std::lock_guard<std::mutex> lock(mutex);
  if (pool)
    return Error::success();
  RelaxedCapture relaxed(driver);
  cuda::MemoryPoolProperties properties = {};
  properties.allocationType = cuda::MemoryAllocationPinned;
  properties.locationType = cuda::MemoryLocationDevice;
  properties.location = device;
  cuda::MemoryPool made = nullptr;
  if (Error error = driver.check(driver.cuMemPoolCreate(&made, &properties),
                                 "making a pool for workspaces of device " +
                                     Twine(device)))
    return error;
  uint64_t kept = keptBytes;
  if (Error error = driver.check(
          driver.cuMemPoolSetAttribute(made, cuda::MemoryPoolReleaseThreshold,
                                       &kept),
          "keeping memory for workspaces of device " + Twine(device))) {
    driver.cuMemPoolDestroy(made);
    return error;
  }
  pool = made;
  return Error::success();
}

Expected<cuda::DevicePointer> WorkspacePool::allocate(uint64_t bytes,
                                                      cuda::Stream stream) {
  if (Error error = prepare())
    return std::move(error);
  cuda::DevicePointer address = 0;
  if (Error error = driver.check(
          driver.cuMemAllocFromPoolAsync(&address, bytes, pool, stream),
          "taking " + Twine(bytes) + " bytes of workspace on device " +
              Twine(device)))
    return std::move(error);
  return address;
}

Error WorkspacePool::release(cuda::DevicePointer address, cuda::Stream stream) {
  return driver.check(driver.cuMemFreeAsync(address, stream),
                      "giving back a workspace of device " + Twine(device));
}
