//===- Runtime.h - Devices, modules and kernels ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_RUNTIME_H
#define FA_RUNTIME_CUDA_RUNTIME_H

#include "fa/Runtime/CUDA/Device.h"
#include "fa/Runtime/CUDA/KernelDescription.h"
#include "fa/Runtime/CUDA/TensorMaps.h"
#include "fa/Target/NVPTX/Assembler.h"
#include <map>

namespace mlir::fa::runtime {

/// One driver and what is loaded through it. All members are thread-safe.
class Runtime {
public:
  /// Devices beyond this ordinal are refused.
  static constexpr int maxDevices = 64;

  static llvm::Expected<std::unique_ptr<Runtime>> create(const char *path);
  ~Runtime();

  const Driver &getDriver() const { return *driver; }
  TensorMapCache &getTensorMaps() { return tensorMaps; }
  llvm::Expected<Device *> getDevice(int ordinal);

  /// The device that holds a pointer. The error calls the tensor `name`.
  llvm::Expected<int> getDeviceOf(const void *data, llvm::StringRef name) const;

  /// The module of an image, loaded once for each content and device. `ptx` is
  /// assembled for the device by ptxas where there is one, else by the driver.
  /// Where kernels of one text spill less by different levels of ptxas, each is
  /// of its own. The device's context is current.
  llvm::Expected<cuda::Module> getModule(const Device &device, const Chip &chip,
                                         const KernelImages &images,
                                         llvm::StringRef kernelName);

private:
  /// Device, size and hash of an image.
  using ImageKey = std::tuple<int, size_t, uint64_t, uint64_t>;
  /// The level of ptxas too, 0 for an image as it is.
  using ModuleKey = std::pair<ImageKey, unsigned>;

  explicit Runtime(std::unique_ptr<Driver> driver);
  llvm::Expected<cuda::Module> loadModule(const std::string &image,
                                          llvm::StringRef what) const;
  void unloadModules();

  std::unique_ptr<Driver> driver;
  TensorMapCache tensorMaps;

  std::mutex deviceMutex;
  std::atomic<Device *> devices[maxDevices] = {};

  std::mutex moduleMutex;
  std::map<ModuleKey, cuda::Module> modules;
  std::map<ImageKey, AssembledImage> assembled;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_RUNTIME_H
