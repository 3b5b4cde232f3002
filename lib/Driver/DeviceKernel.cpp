//===- DeviceKernel.cpp - A compiled kernel on a device -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/DeviceKernel.h"
#include "fa/Runtime/CUDA/Manifest.h"
#include "fa/Target/GPUTarget.h"
#include "fa/Target/NVPTX/Assembler.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::runtime;

llvm::Expected<SmallVector<StringRef>> fa::findDeviceChips(Runtime &cuda) {
  auto device = cuda.getDevice(DeviceKernel::device);
  if (!device)
    return device.takeError();
  const DeviceLimits &limits = (*device)->getLimits();
  int major = limits.computeMajor, minor = limits.computeMinor;
  SmallVector<StringRef> runs, loads;
  for (const GPUTarget &target : getGPUTargets()) {
    Chip chip = *Chip::parse(target.chip);
    if (chip.runsCubinOn(major, minor))
      runs.push_back(target.chip);
    if (chip.takesPTXOn(major, minor))
      loads.push_back(target.chip);
  }
  if (runs.empty() && loads.empty())
    return llvm::createStringError(
        (*device)->describe() +
        " runs the code of no target, expected one of " + listGPUTargets());
  return runs.empty() ? loads : runs;
}

CompileOptions fa::getDeviceCompileOptions() {
  CompileOptions options;
  options.machineCode = !findAssembler().empty();
  return options;
}

llvm::Expected<DeviceKernel> DeviceKernel::load(std::unique_ptr<Runtime> cuda,
                                                CompiledSchedule compiled) {
  DeviceKernel loaded;
  loaded.cuda = std::move(cuda);
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::json::Value(std::move(compiled.manifest));
  auto manifest = readManifest(text);
  if (!manifest)
    return manifest.takeError();
  KernelImages images;
  for (CubinImage &image : compiled.cubins)
    images.cubins.push_back({std::move(image.kernel), std::move(image.bytes)});
  images.ptx = std::move(compiled.ptx);
  auto kernel = Kernel::create(*loaded.cuda, std::move(manifest->kernel),
                               std::move(images));
  if (!kernel)
    return kernel.takeError();
  loaded.kernel = std::move(*kernel);
  if (llvm::Error error = loaded.kernel->prepare(device))
    return std::move(error);
  return loaded;
}

FaDataType fa::getLauncherType(Type type) {
  if (type.isF16())
    return FA_TYPE_F16;
  if (type.isBF16())
    return FA_TYPE_BF16;
  if (type.isF32())
    return FA_TYPE_F32;
  if (type.isF64())
    return FA_TYPE_F64;
  if (type.isInteger(1))
    return FA_TYPE_I1;
  if (type.isInteger(8))
    return FA_TYPE_I8;
  return type.isInteger(32) ? FA_TYPE_I32 : FA_TYPE_I64;
}
