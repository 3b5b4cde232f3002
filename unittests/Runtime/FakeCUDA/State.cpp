//===- State.cpp - What all functions of the fake driver share ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstdio>
#include <cstdlib>

using namespace fake;

std::recursive_mutex fake::mutex;
State fake::state;
thread_local std::vector<CUctx_st *> fake::contextStack;
thread_local CaptureMode fake::captureMode = CaptureModeGlobal;

int fake::getCapability(bool isMajor, int otherwise) {
  const char *text = getenv("FAKE_CUDA_CAPABILITY");
  int major = 0, minor = 0;
  if (!text || sscanf(text, "%d.%d", &major, &minor) != 2)
    return otherwise;
  return isMajor ? major : minor;
}

Result fake::enter(const char *function) {
  ++state.calls[function];
  auto found = state.failures.find(function);
  if (found == state.failures.end())
    return Success;
  Failure &failure = found->second;
  if (failure.skip-- > 0)
    return Success;
  if (failure.times-- <= 0) {
    state.failures.erase(found);
    return Success;
  }
  return Result(failure.result);
}

bool fake::isForbidden() {
  if (captureMode == CaptureModeRelaxed)
    return false;
  bool forbidden = false;
  for (CUstream_st *stream : state.streams) {
    if (!stream->capture)
      continue;
    stream->invalidated = true;
    forbidden = true;
  }
  return forbidden;
}

CUctx_st *fake::getContext() {
  return contextStack.empty() ? nullptr : contextStack.back();
}

void fake::release(CUuserObject_st *object) {
  if (--object->references != 0)
    return;
  state.objects.erase(object);
  object->destroy(object->payload);
  delete object;
}
