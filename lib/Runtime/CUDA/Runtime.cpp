//===- Runtime.cpp - Devices and modules ----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Runtime.h"

#include "fa/Target/NVPTX/Assembler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

Expected<std::unique_ptr<Runtime>> Runtime::create(const char *path) {
  Expected<std::unique_ptr<Driver>> driver = Driver::open(path);
  if (!driver)
    return driver.takeError();
  return std::unique_ptr<Runtime>(new Runtime(std::move(*driver)));
}

Runtime::Runtime(std::unique_ptr<Driver> driver)
    : driver(std::move(driver)), tensorMaps(*this->driver) {}

Runtime::~Runtime() {
  unloadModules();
  for (std::atomic<Device *> &device : devices)
    delete device.load();
}

void Runtime::unloadModules() {
  for (auto &[key, module] : modules) {
    ScopedContext scope(*driver);
    if (Error error = scope.enter(*devices[std::get<0>(key.first)]))
      consumeError(std::move(error));
    driver->cuModuleUnload(module);
  }
}

Expected<Device *> Runtime::getDevice(int ordinal) {
  if (LLVM_LIKELY(ordinal >= 0 && ordinal < maxDevices))
    if (Device *device = devices[ordinal].load(std::memory_order_acquire))
      return device;
  std::lock_guard<std::mutex> lock(deviceMutex);
  Expected<std::unique_ptr<Device>> device = Device::create(*driver, ordinal);
  if (!device)
    return device.takeError();
  if (ordinal >= maxDevices)
    return makeError(FA_INVALID_ARGUMENT,
                     "device " + Twine(ordinal) + " is beyond the first " +
                         Twine(maxDevices) + ", which the runtime serves");
  // Another thread may have been faster; its device stays.
  if (!devices[ordinal])
    devices[ordinal].store(device->release(), std::memory_order_release);
  return devices[ordinal].load();
}

Expected<int> Runtime::getDeviceOf(const void *data, StringRef name) const {
  int ordinal = -1;
  cuda::Result result = driver->cuPointerGetAttribute(
      &ordinal, cuda::PointerDeviceOrdinal,
      reinterpret_cast<cuda::DevicePointer>(data));
  if (LLVM_LIKELY(result == cuda::Success && ordinal >= 0))
    return ordinal;
  std::string address =
      llvm::utohexstr(reinterpret_cast<uintptr_t>(data), true);
  if (result == cuda::Success || result == cuda::InvalidValue)
    return makeError(FA_INVALID_ARGUMENT, "argument '" + name +
                                              "' at address 0x" + address +
                                              " is not in device memory");
  return driver->fail(result, "asking for the device of argument '" + name +
                                  "' at address 0x" + address);
}

Expected<cuda::Module> Runtime::loadModule(const std::string &image,
                                           StringRef what) const {
  char log[4096] = "";
  cuda::JITOption options[] = {cuda::JITErrorLogBuffer,
                               cuda::JITErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  cuda::Module module = nullptr;
  cuda::Result result =
      driver->cuModuleLoadDataEx(&module, image.c_str(), 2, options, values);
  if (result == cuda::Success)
    return module;
  StringRef details = StringRef(log).trim();
  return driver->fail(result,
                      Twine(what) +
                          (details.empty() ? Twine("") : " (" + details + ")"));
}

Expected<cuda::Module> Runtime::getModule(const Device &device,
                                          const Chip &chip,
                                          const KernelImages &images,
                                          StringRef kernelName) {
  const DeviceLimits &limits = device.getLimits();
  int major = limits.computeMajor;
  int minor = limits.computeMinor;
  const std::string *cubin = images.findCubin(kernelName);
  bool useCubin = cubin && chip.runsCubinOn(major, minor);
  if (!useCubin && (images.ptx.empty() || !chip.takesPTXOn(major, minor)))
    return makeError(FA_WRONG_ARCHITECTURE,
                     "kernel '" + kernelName + "' was compiled for " +
                         chip.getName() +
                         (images.ptx.empty() ? ", as machine code only" : "") +
                         "; " + device.describe() + " does not run that");

  const std::string *image = useCubin ? cubin : &images.ptx;
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(image->data()), image->size()));
  ImageKey imageKey(device.getOrdinal(), image->size(), hash.low64,
                    hash.high64);
  std::string assembler = useCubin ? "" : findAssembler();

  // Held while loading, so that threads that want one module load it once.
  std::lock_guard<std::mutex> lock(moduleMutex);
  unsigned level = 0;
  if (!assembler.empty()) {
    auto found = assembled.find(imageKey);
    if (found == assembled.end()) {
      Chip target = chip.suffix ? chip : Chip{major, minor, 0};
      auto made = assemble(assembler, *image, target.getName());
      if (!made)
        return makeError(FA_INVALID_IMAGE, llvm::toString(made.takeError()));
      found = assembled.emplace(imageKey, std::move(*made)).first;
    }
    level = chooseLevel(found->second, kernelName);
    image = &found->second.get(level).cubin;
  }
  ModuleKey key(imageKey, level);
  if (auto found = modules.find(key); found != modules.end())
    return found->second;
  RelaxedCapture relaxed(*driver);
  Expected<cuda::Module> module = loadModule(
      *image,
      ("loading kernel '" + kernelName + "' on " + device.describe()).str());
  if (module)
    modules[key] = *module;
  return module;
}
