//===- KernelLoad.cpp - A kernel on a device ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the image of a kernel on a device at its first use, and checks it
// against the description: parameters, shared memory, cluster size. Read
// `getFunction`, then `loadFunction` with its checks.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Kernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

/// Clusters of more blocks need a permission of the kernel.
static constexpr unsigned portableClusterSize = 8;

Expected<std::unique_ptr<Kernel>> Kernel::create(Runtime &runtime,
                                                 KernelDescription description,
                                                 KernelImages images) {
  if (images.cubins.empty() && images.ptx.empty())
    return makeError(FA_INVALID_IMAGE, "kernel '" + description.name +
                                           "' has neither a cubin nor PTX");
  std::unique_ptr<Kernel> kernel(
      new Kernel(runtime, std::move(description), std::move(images)));
  for (const LaunchDescription &launch : kernel->description.before)
    if (Error error = kernel->addLaunch(launch))
      return std::move(error);
  if (Error error = kernel->addLaunch(kernel->description))
    return std::move(error);
  return std::move(kernel);
}

Error Kernel::addLaunch(const LaunchDescription &launch) {
  auto added = std::make_unique<Launch>();
  added->description = &launch;
  unsigned offset = 0;
  for (auto [index, parameter] : llvm::enumerate(launch.parameters)) {
    if (parameter.kind == ParameterSpec::Counter)
      added->counterParameter = index;
    bool isMap = parameter.kind == ParameterSpec::TensorMap;
    unsigned alignment =
        isMap ? alignof(cuda::TensorMap) : parameter.getSizeInBytes();
    offset = llvm::alignTo(offset, alignment);
    added->offsets.push_back(offset);
    offset += parameter.getSizeInBytes();
  }
  if (offset > maxParameterBytes)
    return makeError(FA_LAUNCH_LIMIT,
                     "the parameters of kernel '" + launch.name + "' take " +
                         Twine(offset) + " bytes, at most " +
                         Twine(maxParameterBytes) + " can be passed");
  launches.push_back(std::move(added));
  return Error::success();
}

Error Kernel::prepare(int ordinal) {
  Expected<Device *> device = runtime.getDevice(ordinal);
  if (!device)
    return device.takeError();
  ScopedContext scope(runtime.getDriver());
  if (Error error = scope.enter(**device))
    return error;
  for (std::unique_ptr<Launch> &launch : launches) {
    if (auto function = getFunction(*launch, **device); !function)
      return function.takeError();
    if (launch->counterParameter)
      if (Error error = (*device)->getCounters().prepare())
        return error;
  }
  return description.workspaces.empty() ? Error::success()
                                        : (*device)->getWorkspaces().prepare();
}

Expected<cuda::Function> Kernel::getFunction(Launch &launch, Device &device) {
  std::atomic<cuda::Function> &slot = launch.functions[device.getOrdinal()];
  if (cuda::Function function = slot.load(std::memory_order_acquire))
    return function;
  Expected<cuda::Function> function = loadFunction(*launch.description, device);
  // Threads that load at the same time get the same function.
  if (function)
    slot.store(*function, std::memory_order_release);
  return function;
}

Expected<cuda::Function> Kernel::loadFunction(const LaunchDescription &launch,
                                              Device &device) {
  Expected<cuda::Module> module =
      runtime.getModule(device, description.chip, images, launch.name);
  if (!module)
    return module.takeError();
  const Driver &driver = runtime.getDriver();
  RelaxedCapture relaxed(driver);
  cuda::Function function = nullptr;
  cuda::Result result =
      driver.cuModuleGetFunction(&function, *module, launch.name.c_str());
  if (result == cuda::NotFound)
    return makeError(FA_INVALID_IMAGE, "the image of kernel '" + launch.name +
                                           "' has no function of that name");
  if (result != cuda::Success)
    return driver.fail(result, "finding kernel '" + launch.name + "'");
  if (Error error = checkFunction(launch, device, function))
    return std::move(error);
  if (Error error = checkParameters(launch, function))
    return std::move(error);
  return function;
}

/// Limits that do not depend on the arguments. Allows the shared memory and the
/// cluster size that the kernel needs.
Error Kernel::checkFunction(const LaunchDescription &launch,
                            const Device &device,
                            cuda::Function function) const {
  const Driver &driver = runtime.getDriver();
  const DeviceLimits &limits = device.getLimits();
  auto tooMuch = [&](const Twine &what, const Twine &limit) {
    return makeError(FA_LAUNCH_LIMIT, "kernel '" + launch.name + "' needs " +
                                          what + "; " + device.describe() +
                                          " allows " + limit);
  };

  int threads = 0;
  int staticBytes = 0;
  for (auto [attribute, value] :
       {std::pair(cuda::FunctionMaxThreadsPerBlock, &threads),
        std::pair(cuda::FunctionSharedSizeBytes, &staticBytes)})
    if (Error error =
            driver.check(driver.cuFuncGetAttribute(value, attribute, function),
                         "asking kernel '" + launch.name + "' for its limits"))
      return error;
  threads = std::min(threads, limits.threadsPerBlock);
  if (int(launch.getBlockSize()) > threads)
    return tooMuch(Twine(launch.getBlockSize()) + " threads in a block",
                   "this kernel " + Twine(threads));
  for (unsigned i = 0; i != 3; ++i)
    if (int(launch.block[i]) > limits.block[i])
      return tooMuch(Twine(launch.block[i]) + " threads in dim " + Twine(i) +
                         " of a block",
                     Twine(limits.block[i]));
  int bytes = staticBytes + int(launch.sharedMemory);
  if (bytes > limits.sharedMemoryPerBlock)
    return tooMuch(Twine(bytes) + " bytes of shared memory in a block",
                   Twine(limits.sharedMemoryPerBlock));

  unsigned clusterSize = launch.getClusterSize();
  if (clusterSize > 1 && limits.computeMajor < 9)
    return tooMuch("clusters of " + Twine(clusterSize) + " blocks",
                   "none below sm_90");
  if (launch.sharedMemory != 0)
    if (Error error = driver.check(
            driver.cuFuncSetAttribute(function,
                                      cuda::FunctionMaxDynamicSharedSizeBytes,
                                      launch.sharedMemory),
            "allowing kernel '" + launch.name + "' " +
                Twine(launch.sharedMemory) + " bytes of shared memory"))
      return error;
  if (clusterSize <= portableClusterSize)
    return Error::success();
  return driver.check(
      driver.cuFuncSetAttribute(function,
                                cuda::FunctionNonPortableClusterSizeAllowed, 1),
      "allowing kernel '" + launch.name + "' clusters of " +
          Twine(clusterSize) + " blocks");
}

/// Compares the description with the signature in the image: a parameter too
/// many or of another size would otherwise be read from beyond the buffer.
Error Kernel::checkParameters(const LaunchDescription &launch,
                              cuda::Function function) const {
  const Driver &driver = runtime.getDriver();
  if (!driver.cuFuncGetParamInfo)
    return Error::success();
  size_t offset = 0;
  size_t size = 0;
  size_t count = 0;
  while (driver.cuFuncGetParamInfo(function, count, &offset, &size) ==
         cuda::Success) {
    if (count < launch.parameters.size() &&
        size != launch.parameters[count].getSizeInBytes())
      return makeError(FA_INVALID_MANIFEST,
                       "parameter " + Twine(count) + " of kernel '" +
                           launch.name + "' has " + Twine(size) +
                           " bytes in its image, but " +
                           Twine(launch.parameters[count].getSizeInBytes()) +
                           " in its description");
    ++count;
  }
  if (count == launch.parameters.size())
    return Error::success();
  return makeError(FA_INVALID_MANIFEST,
                   "kernel '" + launch.name + "' has " + Twine(count) +
                       " parameters in its image, but " +
                       Twine(launch.parameters.size()) + " in its description");
}
