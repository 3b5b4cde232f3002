//===- Control.cpp - What tests ask of the fake driver --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <iterator>
#include <new>

using namespace fake;

void fakeReset() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (CUstream_st *stream : state.streams)
    delete stream;
  for (CUmod_st *module : state.modules)
    delete module;
  for (CUevent_st *event : state.events)
    delete event;
  for (CUuserObject_st *object : state.objects)
    delete object;
  state.~State();
  new (&state) State();
  contextStack.clear();
  captureMode = CaptureModeGlobal;
}

void fakeSetDriverVersion(int version) { state.version = version; }

void fakeSetDevices(int count, int major, int minor) {
  state.deviceCount = count;
  state.major = major;
  state.minor = minor;
}

void fakeFail(const char *function, int result, int skip, int times) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  state.failures[function] = {result, skip, times};
}

int fakeGetCalls(const char *function) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return state.calls[function];
}

int fakeGetLaunchCount() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return state.launches.size();
}

const FakeLaunch *fakeGetLaunch(int index) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return &state.launches[index];
}

bool fakeIsZeroed(uint64_t address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto after = state.zeroed.upper_bound(address);
  return after != state.zeroed.begin() &&
         address - std::prev(after)->first < std::prev(after)->second;
}

uint64_t fakeBase(int device) { return uint64_t(10 + device) << 40; }

int fakeGetLiveObjects() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  int count = state.modules.size() + state.allocations.size() +
              state.pools.size() + state.ownStreams.size() +
              state.events.size() + state.objects.size();
  for (const CUctx_st &context : state.contexts)
    count += context.references;
  return count;
}

void *fakeCreateStream() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto *stream = new CUstream_st{state.nextStream++};
  state.streams.insert(stream);
  return stream;
}

void fakeDestroyStream(void *stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  state.streams.erase(static_cast<CUstream_st *>(stream));
  delete static_cast<CUstream_st *>(stream);
}

void fakeBeginCapture(void *stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  static_cast<CUstream_st *>(stream)->capture = new CUgraph_st();
}

void *fakeEndCapture(void *handle) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto *stream = static_cast<CUstream_st *>(handle);
  CUgraph_st *graph = stream->capture;
  stream->capture = nullptr;
  if (stream->invalidated) {
    stream->invalidated = false;
    fakeDestroyGraph(graph);
    return nullptr;
  }
  return graph;
}

void *fakeInstantiate(void *graph) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto *instance = new CUgraph_st(*static_cast<CUgraph_st *>(graph));
  for (CUuserObject_st *object : instance->objects)
    ++object->references;
  return instance;
}

void fakeDestroyGraph(void *graph) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (CUuserObject_st *object : static_cast<CUgraph_st *>(graph)->objects)
    release(object);
  delete static_cast<CUgraph_st *>(graph);
}

void fakeHoldEvents(bool hold) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  state.holdEvents = hold;
  if (!hold)
    for (CUevent_st *event : state.events)
      event->pending = false;
}

bool fakeHasContext() { return getContext(); }
