//===- State.h - What the fake driver knows ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The objects of the fake driver and the one state behind its functions, which
// the files beside this one implement, each some of them.
//
//===----------------------------------------------------------------------===//

#ifndef FA_UNITTESTS_RUNTIME_FAKECUDA_STATE_H
#define FA_UNITTESTS_RUNTIME_FAKECUDA_STATE_H

#include "../FakeCUDA.h"
#include "fa/Runtime/CUDA/DriverAPI.h"
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace mlir::fa::runtime::cuda {
struct CUctx_st {
  int device;
  int references = 0;
};
struct CUmod_st {
  CUctx_st *context;
  std::string image;
};
struct CUfunc_st {
  std::string name;
  CUctx_st *context;
  int threads = 0;
  int staticBytes = 0;
  int dynamicLimit = 48 * 1024;
  std::vector<size_t> sizes;
};
struct CUuserObject_st {
  void *payload;
  HostFunction destroy;
  unsigned references;
};
struct CUgraph_st {
  std::vector<CUuserObject_st *> objects;
};
struct CUstream_st {
  uint64_t id;
  CUgraph_st *capture = nullptr;
  bool invalidated = false;
};
struct CUmemPoolHandle_st {
  int device;
};
struct CUevent_st {
  bool recorded = false;
  bool pending = false;
};
} // namespace mlir::fa::runtime::cuda

namespace fake {
using namespace mlir::fa::runtime::cuda;

struct Failure {
  int result;
  int skip;
  int times;
};

/// The major or minor number of FAKE_CUDA_CAPABILITY, else the one given.
int getCapability(bool isMajor, int otherwise);

/// Everything the fake knows; guarded by one mutex.
struct State {
  int version = 13000;
  int deviceCount = 1;
  int major = getCapability(/*isMajor=*/true, 9);
  int minor = getCapability(/*isMajor=*/false, 0);
  bool holdEvents = false;
  uint64_t nextStream = 100;
  uint64_t nextAddress = 0;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  std::deque<FakeLaunch> launches;
  CUctx_st contexts[8];
  std::set<CUmod_st *> modules;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  std::set<uint64_t> allocations;
  std::set<CUmemPoolHandle_st *> pools;
  /// Address to bytes.
  std::map<uint64_t, size_t> zeroed;
  std::set<CUstream_st *> streams;
  std::set<CUstream_st *> ownStreams;
  std::set<CUevent_st *> events;
  std::set<CUuserObject_st *> objects;
};

extern std::recursive_mutex mutex;
extern State state;
extern thread_local std::vector<CUctx_st *> contextStack;
extern thread_local CaptureMode captureMode;

/// Counts a call; the result that it is told to fail with, else Success.
Result enter(const char *function);

/// What the driver calls unsafe: it fails, and ends the capture, while a stream
/// is captured in the default mode and this thread has not opted out.
bool isForbidden();

/// The current context, or null.
CUctx_st *getContext();

/// Gives back one reference to an object, the last one destroys it.
void release(CUuserObject_st *object);

inline constexpr Result captureUnsupported = Result(900);
inline constexpr Result captureIsolation = Result(905);
} // namespace fake

/// Begins a function of the driver.
#define ENTER(NAME)                                                            \
  std::lock_guard<std::recursive_mutex> lock(fake::mutex);                     \
  if (fake::Result failure = fake::enter(#NAME))                               \
    return failure;

#define FAKE(NAME, ...) extern "C" FAKE_EXPORTED Result NAME(__VA_ARGS__)

/// Begins one that a capture forbids to other calls.
#define ENTER_UNSAFE(NAME)                                                     \
  ENTER(NAME)                                                                  \
  if (fake::isForbidden())                                                     \
    return fake::captureUnsupported;

#endif // FA_UNITTESTS_RUNTIME_FAKECUDA_STATE_H
