//===- Workspaces.h - Device memory of single calls -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_WORKSPACES_H
#define FA_RUNTIME_CUDA_WORKSPACES_H

#include "fa/Runtime/CUDA/Driver.h"
#include <mutex>

namespace mlir::fa::runtime {

/// Memory of a device that a call has to itself from one place of its stream to
/// a later one. The driver's pool hands it out in the order of streams, so that
/// nobody waits; captured calls make it a part of their graph. Any thread may
/// call anything, with the context of the device current.
class WorkspacePool {
public:
  /// Bytes that are kept for later calls while nobody uses them.
  static constexpr uint64_t keptBytes = uint64_t(64) << 20;

  WorkspacePool(const Driver &driver, int device)
      : driver(driver), device(device) {}
  /// With the context of the device current, if it still has one.
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool &) = delete;
  WorkspacePool &operator=(const WorkspacePool &) = delete;

  /// Makes the pool, which the first allocation does otherwise.
  llvm::Error prepare();
  /// Memory for what `stream` is given from now on. Fails where the device has
  /// no such memory left.
  llvm::Expected<cuda::DevicePointer> allocate(uint64_t bytes,
                                               cuda::Stream stream);
  /// Takes it back behind what `stream` was given until now.
  llvm::Error release(cuda::DevicePointer address, cuda::Stream stream);

private:
  const Driver &driver;
  int device;
  std::mutex mutex;
  cuda::MemoryPool pool = nullptr;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_WORKSPACES_H
