//===- Counters.h - Tile counters of launches ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A persistent kernel takes its tiles from a counter in device memory, which is
// zero when it starts and which its last block sets back to zero. Launches that
// may run at the same time must not share one. Counters are therefore owned:
//
// - by a stream: launches in one stream run one after the other, so they share
//   its counter. This covers the first `maxBound` streams of a device and costs
//   a look-up for each launch.
// - for the time of a launch, in further streams: an event behind the launch
//   tells when the counter may go to another stream.
// - by a graph: a launch under stream capture keeps its counter until the graph
//   and all its instances are destroyed, which a user object of the graph
//   tells.
//
// Nothing here ever waits for the device.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_COUNTERS_H
#define FA_RUNTIME_CUDA_COUNTERS_H

#include "fa/Runtime/CUDA/Driver.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

namespace mlir::fa::runtime {

/// A slot that goes from stream to stream.
struct TrackedSlot {
  unsigned slot = 0;
  uint64_t streamID = 0;
  /// Follows the last launch that is finished.
  cuda::Event event = nullptr;
  /// Launches between take and finish.
  unsigned pending = 0;
};

class CounterPool {
public:
  /// A slot has 8 words of 32 bits, a sector of the L2 cache of its own.
  static constexpr unsigned wordsPerSlot = 8;
  static constexpr unsigned slotBytes = wordsPerSlot * 4;
  static constexpr unsigned slotsPerChunk = 2048;
  static constexpr unsigned chunkBytes = slotBytes * slotsPerChunk;
  static constexpr unsigned maxChunks = FA_WORKSPACE_LIMIT / chunkBytes;
  /// Streams that own a slot for good.
  static constexpr unsigned maxBound = 4096;
  /// Slots that go from stream to stream.
  static constexpr unsigned maxTracked = 1024;

  CounterPool(const Driver &driver, int device);
  /// The device's context is current and no launch is running.
  ~CounterPool();

  /// A counter for one launch.
  struct Lease {
    cuda::DevicePointer address = 0;
    /// Null where the slot does not go from stream to stream.
    TrackedSlot *tracked = nullptr;
  };
  /// Takes a counter for a launch on `stream`, which follows at once. The
  /// device's context is current.
  llvm::Expected<Lease> take(cuda::Stream stream);
  /// To be called after the launch, and also where it failed.
  llvm::Error finish(const Lease &lease, cuda::Stream stream);

  /// 32 bytes, aligned to as many, that are zero when launches on `stream` that
  /// follow read them. No launch may write there. The device's context is
  /// current.
  llvm::Expected<cuda::DevicePointer> getZeros(cuda::Stream stream);

  /// Allocates the first chunk.
  llvm::Error prepare();
  size_t getWorkspaceSize() const { return chunkCount * size_t(chunkBytes); }

private:
  struct Chunk {
    cuda::DevicePointer address = 0;
    /// Follows the zeroing of the chunk.
    cuda::Event zeroed = nullptr;
    std::atomic<bool> isZeroed = false;
  };
  /// Free slots. Graphs give theirs back at any time, also after the pool is
  /// gone, so they share it; no driver function is called under its mutex.
  struct FreeList {
    std::mutex mutex;
    std::vector<unsigned> slots;
  };
  struct GraphSlot {
    std::shared_ptr<FreeList> freeList;
    unsigned slot;
  };

  llvm::Expected<cuda::Graph> getCapture(cuda::Stream stream) const;
  llvm::Expected<Lease> takeForGraph(cuda::Stream stream, cuda::Graph graph);
  llvm::Expected<Lease> takeTracked(cuda::Stream stream, uint64_t streamID);
  llvm::Expected<TrackedSlot *> findTracked(uint64_t streamID);
  llvm::Expected<TrackedSlot *> addTracked(cuda::Stream stream);
  llvm::Expected<unsigned> takeFree(cuda::Stream stream, bool isCapturing);
  llvm::Error grow();
  llvm::Error awaitZeroed(unsigned slot, cuda::Stream stream, bool isCapturing);
  void giveBack(unsigned slot);
  cuda::DevicePointer getAddress(unsigned slot) const;
  static void releaseGraphSlot(void *payload);

  const Driver &driver;
  int device;
  std::shared_ptr<FreeList> freeList;

  /// Guards everything below.
  std::mutex mutex;
  llvm::DenseMap<uint64_t, unsigned> bound;
  /// The slot of getZeros.
  std::optional<unsigned> zeros;
  std::list<TrackedSlot> tracked;
  Chunk chunks[maxChunks];
  std::atomic<unsigned> chunkCount = 0;
  /// Zeroes new chunks; does not order itself with the caller's streams.
  cuda::Stream zeroingStream = nullptr;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_COUNTERS_H
