//===- ForeignCalls.h - XLA's interface for foreign functions ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the handler uses of XLA's typed interface, version 0.3 (its header is
// xla/ffi/api/c_api.h): so building needs no JAX. XLA checks the version that
// a handler gives and keeps old ones for a year.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_JAX_FOREIGNCALLS_H
#define FA_LIB_JAX_FOREIGNCALLS_H

#include <cstddef>
#include <cstdint>

namespace fa::jax {

inline constexpr int majorVersion = 0, minorVersion = 3;
inline constexpr int metadataExtension = 1, executeStage = 3;
inline constexpr int attributeArray = 1, attributeString = 4;
/// As abseil numbers them.
inline constexpr int invalidArgument = 3;

struct Extension {
  size_t size;
  int type;
  Extension *next;
};

struct Version {
  size_t size;
  Extension *extensions;
  int majorVersion, minorVersion;
};

/// Of traits: a graph may capture the launches.
inline constexpr uint32_t isCapturable = 1;

struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

struct ErrorArguments {
  size_t size;
  Extension *extensions;
  const char *message;
  int code;
};

struct StreamArguments {
  size_t size;
  Extension *extensions;
  void *context;
  void *stream;
};

struct DeviceArguments {
  size_t size;
  Extension *extensions;
  void *context;
  int32_t device;
};

/// Errors are objects of XLA's, null for none.
using Error = void *;
using Unused = void (*)();

struct Api {
  size_t size;
  Extension *extensions;
  Version version;
  const void *internal;
  Error (*createError)(ErrorArguments *);
  Unused getErrorMessage, destroyError, registerHandler;
  Error (*getStream)(StreamArguments *);
  Unused registerType, getExecutionContext, setState, getState, allocate, free,
      schedule, getThreadCount, createFuture, setFuture, setFutureError,
      getRunId;
  /// Since 0.2.
  Error (*getDevice)(DeviceArguments *);
};

struct Buffer {
  size_t size;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  const int64_t *shape;
};

struct Buffers {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *kinds;
  void **values;
};

struct Span {
  const char *data;
  size_t length;
};

struct Array {
  int type;
  size_t size;
  const void *data;
};

struct Attributes {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *kinds;
  Span **names;
  void **values;
};

struct CallFrame {
  size_t size;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
};

} // namespace fa::jax

#endif // FA_LIB_JAX_FOREIGNCALLS_H
