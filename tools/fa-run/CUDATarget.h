//===- CUDATarget.h - Runs GPU schedules on a CUDA device -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_CUDATARGET_H
#define FA_TOOLS_FA_RUN_CUDATARGET_H

#include "Benchmark.h"
#include "fa/Driver/DeviceKernel.h"
#include "fa/Driver/HostBuffer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// Whether there is a CUDA driver with a device.
bool hasCUDADevice();

/// The target whose code suits the first CUDA device best, for example sm_90a.
/// Fails with one diagnostic, also without a driver or a device.
FailureOr<StringRef> getDeviceChip();

/// A host function's kernel on the first CUDA device.
class CUDATarget {
public:
  /// Compiles the kernel that a host function launches, to machine code where
  /// there is ptxas. The host function takes its outputs as arguments. Fails
  /// with one diagnostic, also without a driver or a device.
  static FailureOr<CUDATarget> compile(func::FuncOp host, bool peepholes);

  /// Launches once, on copies of the arguments in device memory, and copies
  /// memrefs back. Fails with one diagnostic.
  LogicalResult run(MutableArrayRef<HostBuffer> arguments);

  /// The median time of launches, by events on the device. Arguments are copied
  /// before.
  FailureOr<Timing> measure(MutableArrayRef<HostBuffer> arguments);

  double getCompileSeconds() const { return compileSeconds; }

private:
  explicit CUDATarget(DeviceKernel kernel) : kernel(std::move(kernel)) {}

  DeviceKernel kernel;
  /// Of the host function's arguments.
  SmallVector<Type> types;
  double compileSeconds = 0;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_CUDATARGET_H
