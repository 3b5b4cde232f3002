//===- Memory.cpp - Memory of the fake driver -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace fake;

FAKE(cuMemAlloc_v2, DevicePointer *address, size_t bytes) {
  ENTER_UNSAFE(cuMemAlloc_v2)
  if (!getContext())
    return InvalidContext;
  *address =
      fakeBase(getContext()->device) + (uint64_t(1) << 39) + state.nextAddress;
  state.nextAddress += (bytes + 255) / 256 * 256;
  state.allocations.insert(*address);
  return Success;
}

FAKE(cuMemFree_v2, DevicePointer address) {
  ENTER(cuMemFree_v2)
  return state.allocations.erase(address) ? Success : InvalidValue;
}

FAKE(cuMemPoolCreate, MemoryPool *pool, const MemoryPoolProperties *made) {
  ENTER_UNSAFE(cuMemPoolCreate)
  if (made->allocationType != MemoryAllocationPinned ||
      made->locationType != MemoryLocationDevice)
    return InvalidValue;
  *pool = new CUmemPoolHandle_st{made->location};
  state.pools.insert(*pool);
  return Success;
}

FAKE(cuMemPoolDestroy, MemoryPool pool) {
  ENTER(cuMemPoolDestroy)
  if (!state.pools.erase(pool))
    return InvalidValue;
  delete pool;
  return Success;
}

FAKE(cuMemPoolSetAttribute, MemoryPool pool, MemoryPoolAttribute attribute,
     void *) {
  ENTER(cuMemPoolSetAttribute)
  return state.pools.count(pool) && attribute == MemoryPoolReleaseThreshold
             ? Success
             : InvalidValue;
}

FAKE(cuMemAllocFromPoolAsync, DevicePointer *address, size_t bytes,
     MemoryPool pool, Stream) {
  ENTER(cuMemAllocFromPoolAsync)
  if (!state.pools.count(pool) || bytes == 0)
    return InvalidValue;
  *address = fakeBase(pool->device) + (uint64_t(1) << 39) + state.nextAddress;
  state.nextAddress += (bytes + 255) / 256 * 256;
  state.allocations.insert(*address);
  return Success;
}

FAKE(cuMemFreeAsync, DevicePointer address, Stream) {
  ENTER(cuMemFreeAsync)
  return state.allocations.erase(address) ? Success : InvalidValue;
}

FAKE(cuMemcpyHtoD_v2, DevicePointer, const void *, size_t) {
  ENTER(cuMemcpyHtoD_v2)
  return Success;
}

FAKE(cuMemcpyDtoH_v2, void *, DevicePointer, size_t) {
  ENTER(cuMemcpyDtoH_v2)
  return Success;
}

FAKE(cuMemsetD8Async, DevicePointer address, unsigned char value, size_t bytes,
     Stream) {
  ENTER(cuMemsetD8Async)
  if (value == 0)
    state.zeroed[address] = bytes;
  return Success;
}

FAKE(cuPointerGetAttribute, void *value, PointerAttribute,
     DevicePointer address) {
  ENTER(cuPointerGetAttribute)
  if (address < fakeBase(0) || address >= fakeBase(state.deviceCount))
    return InvalidValue;
  *static_cast<int *>(value) = int(address >> 40) - 10;
  return Success;
}
