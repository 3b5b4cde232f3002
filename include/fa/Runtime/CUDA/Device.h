//===- Device.h - A CUDA device and its primary context --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_DEVICE_H
#define FA_RUNTIME_CUDA_DEVICE_H

#include "fa/Runtime/CUDA/Counters.h"
#include "fa/Runtime/CUDA/Workspaces.h"
#include <array>

namespace mlir::fa::runtime {

struct DeviceLimits {
  int computeMajor = 0;
  int computeMinor = 0;
  int multiprocessors = 0;
  int threadsPerBlock = 0;
  /// Static and dynamic shared memory of a block, in bytes.
  int sharedMemoryPerBlock = 0;
  std::array<int, 3> block = {};
  std::array<int, 3> grid = {};
};

/// Work is done in the primary context, the one that the CUDA runtime and all
/// frameworks use.
class Device {
public:
  static llvm::Expected<std::unique_ptr<Device>> create(const Driver &driver,
                                                        int ordinal);
  ~Device();

  int getOrdinal() const { return ordinal; }
  cuda::Context getContext() const { return context; }
  const DeviceLimits &getLimits() const { return limits; }
  CounterPool &getCounters() { return *counters; }
  WorkspacePool &getWorkspaces() { return *workspaces; }
  /// For messages, for example "device 0 (NVIDIA H200, sm_90)".
  std::string describe() const;

private:
  Device(const Driver &driver, int ordinal)
      : driver(driver), ordinal(ordinal),
        counters(std::make_unique<CounterPool>(driver, ordinal)),
        workspaces(std::make_unique<WorkspacePool>(driver, ordinal)) {}
  llvm::Error initialize();

  const Driver &driver;
  int ordinal;
  cuda::DeviceHandle handle = 0;
  std::string name;
  DeviceLimits limits;
  cuda::Context context = nullptr;
  std::unique_ptr<CounterPool> counters;
  std::unique_ptr<WorkspacePool> workspaces;
};

/// Makes the context of a device current in this thread, unless it is, and
/// brings back the former one.
class ScopedContext {
public:
  explicit ScopedContext(const Driver &driver) : driver(driver) {}
  ~ScopedContext();
  ScopedContext(const ScopedContext &) = delete;
  ScopedContext &operator=(const ScopedContext &) = delete;

  llvm::Error enter(const Device &device);

private:
  const Driver &driver;
  bool pushed = false;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_DEVICE_H
