//===- DeviceKernel.h - A compiled kernel on a device -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_DEVICEKERNEL_H
#define FA_DRIVER_DEVICEKERNEL_H

#include "fa/Export/Compile.h"
#include "fa/Runtime/CUDA/Kernel.h"

namespace mlir::fa {

/// The targets whose code the first CUDA device takes, from old to new: those
/// whose machine code it runs, or, where there are none, whose PTX it takes.
llvm::Expected<SmallVector<StringRef>> findDeviceChips(runtime::Runtime &cuda);

/// What a schedule is compiled to for a device: machine code where there is
/// ptxas, else PTX for the driver.
CompileOptions getDeviceCompileOptions();

/// A kernel on the first CUDA device.
class DeviceKernel {
public:
  /// Ordinal of the device.
  static constexpr int device = 0;

  static llvm::Expected<DeviceKernel>
  load(std::unique_ptr<runtime::Runtime> cuda, CompiledSchedule compiled);

  runtime::Kernel &getKernel() const { return *kernel; }
  const runtime::Driver &getDriver() const { return cuda->getDriver(); }
  llvm::Expected<runtime::Device *> getDevice() const {
    return cuda->getDevice(device);
  }

private:
  std::unique_ptr<runtime::Runtime> cuda;
  std::unique_ptr<runtime::Kernel> kernel;
};

/// The launcher's name of an element type of a HostBuffer.
FaDataType getLauncherType(Type type);

} // namespace mlir::fa

#endif // FA_DRIVER_DEVICEKERNEL_H
