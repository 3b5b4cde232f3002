//===- Streams.cpp - Streams, events and graphs of the fake driver --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <utility>

using namespace fake;

FAKE(cuStreamCreate, Stream *stream, unsigned) {
  ENTER_UNSAFE(cuStreamCreate)
  *stream = new CUstream_st{state.nextStream++};
  state.ownStreams.insert(*stream);
  return Success;
}

FAKE(cuStreamDestroy_v2, Stream stream) {
  ENTER(cuStreamDestroy_v2)
  state.ownStreams.erase(stream);
  delete stream;
  return Success;
}

FAKE(cuStreamGetId, Stream stream, unsigned long long *identifier) {
  ENTER(cuStreamGetId)
  *identifier = stream ? stream->id : 1;
  return Success;
}

FAKE(cuStreamWaitEvent, Stream stream, Event, unsigned flags) {
  ENTER(cuStreamWaitEvent)
  bool isCapturing = stream && stream->capture;
  return isCapturing && flags != EventWaitExternal ? captureIsolation : Success;
}

FAKE(cuStreamGetCaptureInfo_v2, Stream stream, CaptureStatus *status,
     uint64_t *, Graph *graph, const GraphNode **, size_t *) {
  ENTER(cuStreamGetCaptureInfo_v2)
  *status = CaptureStatusNone;
  if (stream && stream->capture) {
    *status =
        stream->invalidated ? CaptureStatusInvalidated : CaptureStatusActive;
    *graph = stream->capture;
  }
  return Success;
}

FAKE(cuThreadExchangeStreamCaptureMode, CaptureMode *mode) {
  ENTER(cuThreadExchangeStreamCaptureMode)
  std::swap(*mode, captureMode);
  return Success;
}

FAKE(cuEventCreate, Event *event, unsigned) {
  ENTER(cuEventCreate)
  *event = new CUevent_st();
  state.events.insert(*event);
  return Success;
}

FAKE(cuEventRecord, Event event, Stream) {
  ENTER(cuEventRecord)
  event->recorded = true;
  event->pending = state.holdEvents;
  return Success;
}

FAKE(cuEventQuery, Event event) {
  ENTER_UNSAFE(cuEventQuery)
  return event->pending ? NotReady : Success;
}

FAKE(cuEventElapsedTime, float *milliseconds, Event, Event) {
  ENTER(cuEventElapsedTime)
  *milliseconds = 1;
  return Success;
}

FAKE(cuStreamSynchronize, Stream) {
  ENTER(cuStreamSynchronize)
  return Success;
}

FAKE(cuEventDestroy_v2, Event event) {
  ENTER(cuEventDestroy_v2)
  state.events.erase(event);
  delete event;
  return Success;
}

FAKE(cuUserObjectCreate, UserObject *object, void *payload,
     HostFunction destroy, unsigned count, unsigned) {
  ENTER(cuUserObjectCreate)
  *object = new CUuserObject_st{payload, destroy, count};
  state.objects.insert(*object);
  return Success;
}

FAKE(cuUserObjectRelease, UserObject object, unsigned) {
  ENTER(cuUserObjectRelease)
  release(object);
  return Success;
}

FAKE(cuGraphRetainUserObject, Graph graph, UserObject object, unsigned,
     unsigned) {
  ENTER(cuGraphRetainUserObject)
  graph->objects.push_back(object);
  return Success;
}
