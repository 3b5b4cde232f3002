//===- Contexts.cpp - Devices and contexts of the fake driver -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstring>
#include <map>

using namespace fake;

FAKE(cuInit, unsigned) {
  ENTER(cuInit)
  return state.deviceCount ? Success : NoDevice;
}

FAKE(cuDriverGetVersion, int *version) {
  ENTER(cuDriverGetVersion)
  *version = state.version;
  return Success;
}

FAKE(cuGetErrorName, Result result, const char **name) {
  static const std::map<int, const char *> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
  auto found = names.find(result);
  if (found == names.end())
    return InvalidValue;
  *name = found->second;
  return Success;
}

FAKE(cuGetErrorString, Result result, const char **text) {
  *text = result == OutOfMemory ? "out of memory" : "refused by the fake";
  return Success;
}

FAKE(cuDeviceGetCount, int *count) {
  ENTER(cuDeviceGetCount)
  *count = state.deviceCount;
  return Success;
}

FAKE(cuDeviceGet, DeviceHandle *device, int ordinal) {
  ENTER(cuDeviceGet)
  if (ordinal >= state.deviceCount)
    return InvalidDevice;
  *device = ordinal;
  return Success;
}

FAKE(cuDeviceGetName, char *name, int length, DeviceHandle) {
  ENTER(cuDeviceGetName)
  strncpy(name, "Fake GPU", length);
  return Success;
}

FAKE(cuDeviceGetAttribute, int *value, DeviceAttribute attribute,
     DeviceHandle) {
  ENTER(cuDeviceGetAttribute)
  static const std::map<int, int> values = {
      {MaxThreadsPerBlock, 1024},
      {MaxBlockDimX, 1024},
      {MaxBlockDimY, 1024},
      {MaxBlockDimZ, 64},
      {MaxGridDimX, 2147483647},
      {MaxGridDimY, 65535},
      {MaxGridDimZ, 65535},
      {MultiprocessorCount, 132},
      {MaxSharedMemoryPerBlockOptin, 232448}};
  if (attribute == ComputeCapabilityMajor)
    *value = state.major;
  else if (attribute == ComputeCapabilityMinor)
    *value = state.minor;
  else
    *value = values.at(attribute);
  return Success;
}

FAKE(cuDevicePrimaryCtxRetain, Context *context, DeviceHandle device) {
  ENTER(cuDevicePrimaryCtxRetain)
  *context = &state.contexts[device];
  (*context)->device = device;
  ++(*context)->references;
  return Success;
}

FAKE(cuDevicePrimaryCtxRelease_v2, DeviceHandle device) {
  ENTER(cuDevicePrimaryCtxRelease_v2)
  --state.contexts[device].references;
  return Success;
}

FAKE(cuCtxGetCurrent, Context *context) {
  ENTER(cuCtxGetCurrent)
  *context = getContext();
  return Success;
}

FAKE(cuCtxPushCurrent_v2, Context context) {
  ENTER(cuCtxPushCurrent_v2)
  contextStack.push_back(context);
  return Success;
}

FAKE(cuCtxPopCurrent_v2, Context *context) {
  ENTER(cuCtxPopCurrent_v2)
  if (contextStack.empty())
    return InvalidContext;
  *context = contextStack.back();
  contextStack.pop_back();
  return Success;
}
