//===- FakeCUDA.h - A CUDA driver that records and fails on request ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library with the driver's functions that the runtime calls, for
// tests on machines without a GPU. It keeps the driver's rules that the runtime
// has to work by: the current context, what a capture forbids to other calls,
// who keeps a user object, which events a captured stream may wait for.
//
// An image is any text with a line
//   fake-kernel: NAME THREADS STATIC_SHARED_BYTES PARAMETER_BYTES...
// or PTX, of which names, parameters and .maxntid are read. Nothing is run.
// Programs that cannot call the functions below set FAKE_CUDA_CAPABILITY=9.0.
// Memory of device D has the addresses from fakeBase(D) to fakeBase(D + 1).
// The functions are in the folder FakeCUDA, by what they stand in for.
//
//===----------------------------------------------------------------------===//

#ifndef FA_UNITTESTS_RUNTIME_FAKECUDA_H
#define FA_UNITTESTS_RUNTIME_FAKECUDA_H

#include <cstdint>

#define FAKE_EXPORTED __attribute__((visibility("default")))

/// What the fake encodes a tensor map to.
struct FakeTensorMap {
  uint64_t address;
  uint64_t sizes[5];
  uint64_t strides[4];
  uint32_t box[5];
  uint8_t type;
  uint8_t rank;
  uint8_t swizzle;
  uint8_t promotion;
};

struct FakeLaunch {
  char kernel[64];
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t cluster[3];
  uint32_t isDependent;
  uint32_t sharedMemory;
  uint64_t streamID;
  /// Null outside a capture.
  void *graph;
  int32_t device;
  uint32_t parameterCount;
  uint32_t offsets[256];
  /// Values of the parameters, each at its offset.
  uint8_t parameters[4096];
};

extern "C" {
/// Forgets everything and goes back to one sm_90 device and CUDA 13.0.
FAKE_EXPORTED void fakeReset();
FAKE_EXPORTED void fakeSetDriverVersion(int version);
FAKE_EXPORTED void fakeSetDevices(int count, int major, int minor);
/// From its call number `skip` (0 is the next one) on, `function` fails `times`
/// times with `result`.
FAKE_EXPORTED void fakeFail(const char *function, int result, int skip,
                            int times);
FAKE_EXPORTED int fakeGetCalls(const char *function);
FAKE_EXPORTED int fakeGetLaunchCount();
FAKE_EXPORTED const FakeLaunch *fakeGetLaunch(int index);
FAKE_EXPORTED uint64_t fakeBase(int device);
/// Whether the byte there was zeroed by the driver's memset.
FAKE_EXPORTED bool fakeIsZeroed(uint64_t address);
/// Contexts, modules, allocations, streams, events and user objects alive.
FAKE_EXPORTED int fakeGetLiveObjects();

/// Streams of the caller; destroying one does not end its identifier's events.
FAKE_EXPORTED void *fakeCreateStream();
FAKE_EXPORTED void fakeDestroyStream(void *stream);
/// A capture in the driver's default mode.
FAKE_EXPORTED void fakeBeginCapture(void *stream);
/// The graph, or null where the capture was invalidated.
FAKE_EXPORTED void *fakeEndCapture(void *stream);
/// An instance keeps the user objects of its graph.
FAKE_EXPORTED void *fakeInstantiate(void *graph);
FAKE_EXPORTED void fakeDestroyGraph(void *graph);
/// While true, what is recorded by an event is not over.
FAKE_EXPORTED void fakeHoldEvents(bool hold);
/// Whether a context is current in this thread.
FAKE_EXPORTED bool fakeHasContext();
}

#endif // FA_UNITTESTS_RUNTIME_FAKECUDA_H
