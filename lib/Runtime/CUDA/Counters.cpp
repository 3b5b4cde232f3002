//===- Counters.cpp - Tile counters of launches ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands out the tile counters of persistent kernels: words of device memory
// that are zero at each launch, as kernels leave them. A stream keeps its
// counter; a CUDA graph owns one. Read `take`, at the end, then its two
// cases.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Counters.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

CounterPool::CounterPool(const Driver &driver, int device)
    : driver(driver), device(device), freeList(std::make_shared<FreeList>()) {}

CounterPool::~CounterPool() {
  for (TrackedSlot &slot : tracked)
    driver.cuEventDestroy_v2(slot.event);
  for (unsigned i = 0; i != chunkCount; ++i) {
    driver.cuEventDestroy_v2(chunks[i].zeroed);
    driver.cuMemFree_v2(chunks[i].address);
  }
  if (zeroingStream)
    driver.cuStreamDestroy_v2(zeroingStream);
}

cuda::DevicePointer CounterPool::getAddress(unsigned slot) const {
  return chunks[slot / slotsPerChunk].address +
         slot % slotsPerChunk * slotBytes;
}

void CounterPool::giveBack(unsigned slot) {
  std::lock_guard<std::mutex> lock(freeList->mutex);
  freeList->slots.push_back(slot);
}

Error CounterPool::prepare() {
  std::lock_guard<std::mutex> lock(mutex);
  return chunkCount == 0 ? grow() : Error::success();
}

/// Allocates a chunk and starts to zero it. What fails is undone.
Error CounterPool::grow() {
  if (chunkCount == maxChunks)
    return makeError(FA_OUT_OF_MEMORY,
                     "all " + Twine(maxChunks * slotsPerChunk) +
                         " tile counters of device " + Twine(device) +
                         " are in use; each stream and each launch in a graph "
                         "keeps one: destroy graphs that are done with");
  RelaxedCapture relaxed(driver);
  if (!zeroingStream)
    if (Error error = driver.check(
            driver.cuStreamCreate(&zeroingStream, cuda::StreamNonBlocking),
            "creating a stream to zero tile counters"))
      return error;
  Chunk &chunk = chunks[chunkCount];
  if (Error error = driver.check(
          driver.cuEventCreate(&chunk.zeroed, cuda::EventDisableTiming),
          "creating an event for tile counters"))
    return error;
  if (Error error = driver.check(
          driver.cuMemAlloc_v2(&chunk.address, chunkBytes),
          "allocating " + Twine(chunkBytes) + " bytes for tile counters")) {
    driver.cuEventDestroy_v2(chunk.zeroed);
    return error;
  }
  cuda::Result result =
      driver.cuMemsetD8Async(chunk.address, 0, chunkBytes, zeroingStream);
  if (result == cuda::Success)
    result = driver.cuEventRecord(chunk.zeroed, zeroingStream);
  if (result != cuda::Success) {
    driver.cuMemFree_v2(chunk.address);
    driver.cuEventDestroy_v2(chunk.zeroed);
    return driver.fail(result, "zeroing tile counters");
  }
  unsigned first = chunkCount * slotsPerChunk;
  std::lock_guard<std::mutex> lock(freeList->mutex);
  for (unsigned i = slotsPerChunk; i != 0; --i)
    freeList->slots.push_back(first + i - 1);
  ++chunkCount;
  return Error::success();
}

/// Makes `stream` follow the zeroing of the slot's chunk, where that may not be
/// over. A graph waits for it as for an event from outside.
Error CounterPool::awaitZeroed(unsigned slot, cuda::Stream stream,
                               bool isCapturing) {
  Chunk &chunk = chunks[slot / slotsPerChunk];
  if (chunk.isZeroed)
    return Error::success();
  cuda::Result result;
  {
    RelaxedCapture relaxed(driver);
    result = driver.cuEventQuery(chunk.zeroed);
  }
  if (result == cuda::Success) {
    chunk.isZeroed = true;
    return Error::success();
  }
  if (result == cuda::NotReady)
    result = driver.cuStreamWaitEvent(stream, chunk.zeroed,
                                      isCapturing ? cuda::EventWaitExternal
                                                  : cuda::EventWaitDefault);
  return driver.check(result, "waiting in the stream for zeroed tile counters");
}

Expected<unsigned> CounterPool::takeFree(cuda::Stream stream,
                                         bool isCapturing) {
  std::optional<unsigned> slot;
  auto pop = [&] {
    std::lock_guard<std::mutex> lock(freeList->mutex);
    if (freeList->slots.empty())
      return;
    slot = freeList->slots.back();
    freeList->slots.pop_back();
  };
  pop();
  if (!slot) {
    if (Error error = grow())
      return std::move(error);
    pop();
  }
  if (Error error = awaitZeroed(*slot, stream, isCapturing)) {
    giveBack(*slot);
    return std::move(error);
  }
  return *slot;
}

void CounterPool::releaseGraphSlot(void *payload) {
  std::unique_ptr<GraphSlot> owner(static_cast<GraphSlot *>(payload));
  std::lock_guard<std::mutex> lock(owner->freeList->mutex);
  owner->freeList->slots.push_back(owner->slot);
}

Expected<CounterPool::Lease> CounterPool::takeForGraph(cuda::Stream stream,
                                                       cuda::Graph graph) {
  Expected<unsigned> slot = takeFree(stream, /*isCapturing=*/true);
  if (!slot)
    return slot.takeError();
  auto payload = std::make_unique<GraphSlot>(GraphSlot{freeList, *slot});
  cuda::UserObject object;
  if (Error error = driver.check(
          driver.cuUserObjectCreate(&object, payload.get(), releaseGraphSlot, 1,
                                    cuda::UserObjectNoDestructorSync),
          "creating the owner of a captured tile counter")) {
    giveBack(*slot);
    return std::move(error);
  }
  payload.release();
  if (Error error =
          driver.check(driver.cuGraphRetainUserObject(
                           graph, object, 1, cuda::GraphUserObjectMove),
                       "giving a tile counter to the captured graph")) {
    driver.cuUserObjectRelease(object, 1);
    return std::move(error);
  }
  return Lease{getAddress(*slot)};
}

/// The slot of the stream's last launch, else one whose launches are over.
Expected<TrackedSlot *> CounterPool::findTracked(uint64_t streamID) {
  for (TrackedSlot &slot : tracked)
    if (slot.streamID == streamID)
      return &slot;
  for (TrackedSlot &slot : tracked) {
    if (slot.pending != 0)
      continue;
    cuda::Result result = driver.cuEventQuery(slot.event);
    if (result == cuda::Success)
      return &slot;
    if (result != cuda::NotReady)
      return driver.fail(result, "asking for the end of an earlier launch");
  }
  return nullptr;
}

Expected<TrackedSlot *> CounterPool::addTracked(cuda::Stream stream) {
  if (tracked.size() == maxTracked)
    return makeError(FA_OUT_OF_MEMORY,
                     "no tile counter is free on device " + Twine(device) +
                         ": " + Twine(maxBound) + " streams own one, and " +
                         Twine(maxTracked) +
                         " launches in other streams are not over; launch "
                         "again later, or use fewer streams");
  TrackedSlot slot;
  if (Error error = driver.check(
          driver.cuEventCreate(&slot.event, cuda::EventDisableTiming),
          "creating an event for a tile counter"))
    return std::move(error);
  Expected<unsigned> index = takeFree(stream, /*isCapturing=*/false);
  if (!index) {
    driver.cuEventDestroy_v2(slot.event);
    return index.takeError();
  }
  slot.slot = *index;
  tracked.push_back(slot);
  return &tracked.back();
}

Expected<CounterPool::Lease> CounterPool::takeTracked(cuda::Stream stream,
                                                      uint64_t streamID) {
  Expected<TrackedSlot *> slot = findTracked(streamID);
  if (slot && !*slot)
    slot = addTracked(stream);
  if (!slot)
    return slot.takeError();
  (*slot)->streamID = streamID;
  ++(*slot)->pending;
  return Lease{getAddress((*slot)->slot), *slot};
}

/// The graph that the stream is captured into; null where it is not captured.
Expected<cuda::Graph> CounterPool::getCapture(cuda::Stream stream) const {
  cuda::CaptureStatus status;
  cuda::Graph graph = nullptr;
  cuda::Result result = driver.cuStreamGetCaptureInfo_v2(
      stream, &status, nullptr, &graph, nullptr, nullptr);
  if (LLVM_UNLIKELY(result != cuda::Success))
    return driver.fail(result, "asking whether the stream is captured");
  if (status == cuda::CaptureStatusInvalidated)
    return makeError(FA_DRIVER_ERROR,
                     "the capture of the stream was invalidated before");
  return status == cuda::CaptureStatusActive ? graph : nullptr;
}

Expected<cuda::DevicePointer> CounterPool::getZeros(cuda::Stream stream) {
  Expected<cuda::Graph> graph = getCapture(stream);
  if (!graph)
    return graph.takeError();
  std::lock_guard<std::mutex> lock(mutex);
  if (zeros) {
    if (Error error = awaitZeroed(*zeros, stream, *graph != nullptr))
      return std::move(error);
    return getAddress(*zeros);
  }
  Expected<unsigned> slot = takeFree(stream, *graph != nullptr);
  if (!slot)
    return slot.takeError();
  zeros = *slot;
  return getAddress(*slot);
}

Expected<CounterPool::Lease> CounterPool::take(cuda::Stream stream) {
  Expected<cuda::Graph> graph = getCapture(stream);
  if (!graph)
    return graph.takeError();
  unsigned long long streamID = 0;
  if (!*graph) {
    cuda::Result result = driver.cuStreamGetId(stream, &streamID);
    if (LLVM_UNLIKELY(result != cuda::Success))
      return driver.fail(result, "asking for the identifier of the stream");
  }

  std::lock_guard<std::mutex> lock(mutex);
  if (*graph)
    return takeForGraph(stream, *graph);
  if (auto found = bound.find(streamID); found != bound.end())
    return Lease{getAddress(found->second)};
  if (bound.size() == maxBound)
    return takeTracked(stream, streamID);
  Expected<unsigned> slot = takeFree(stream, /*isCapturing=*/false);
  if (!slot)
    return slot.takeError();
  bound[streamID] = *slot;
  return Lease{getAddress(*slot)};
}

Error CounterPool::finish(const Lease &lease, cuda::Stream stream) {
  if (LLVM_LIKELY(!lease.tracked))
    return Error::success();
  std::lock_guard<std::mutex> lock(mutex);
  --lease.tracked->pending;
  return driver.check(driver.cuEventRecord(lease.tracked->event, stream),
                      "recording the end of a launch");
}
