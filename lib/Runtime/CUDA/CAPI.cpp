//===- CAPI.cpp - C API of the CUDA launcher ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa-c/Runtime.h"

#include "fa/Runtime/CUDA/Kernel.h"
#include "fa/Runtime/CUDA/Manifest.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;

static_assert(sizeof(FaArgument) == 120,
              "bindings write arguments by their layout");
static_assert(FA_WORKSPACE_LIMIT % CounterPool::chunkBytes == 0 &&
                  FA_WORKSPACE_LIMIT < (1 << 20),
              "the workspace is whole chunks and under 1 MiB");

static std::string &getLastMessage() {
  thread_local std::string message;
  return message;
}

static FaStatus finish(Error error) {
  if (LLVM_LIKELY(!error))
    return FA_SUCCESS;
  FaStatus status = FA_DRIVER_ERROR;
  handleAllErrors(std::move(error), [&](const RuntimeError &runtimeError) {
    status = runtimeError.getStatus();
    getLastMessage() = runtimeError.getMessage();
  });
  return status;
}

static FaStatus missing(const char *what) {
  return finish(makeError(FA_INVALID_ARGUMENT,
                          llvm::Twine("the argument '") + what + "' is null"));
}

static Runtime *unwrap(FaRuntime runtime) {
  return reinterpret_cast<Runtime *>(runtime);
}

static Kernel *unwrap(FaKernel kernel) {
  return reinterpret_cast<Kernel *>(kernel);
}

static FaStatus createKernel(FaRuntime runtime, KernelDescription description,
                             KernelImages images, FaKernel *kernel) {
  Expected<std::unique_ptr<Kernel>> created = Kernel::create(
      *unwrap(runtime), std::move(description), std::move(images));
  if (!created)
    return finish(created.takeError());
  *kernel = reinterpret_cast<FaKernel>(created->release());
  return FA_SUCCESS;
}

const char *faRuntimeGetErrorMessage(void) { return getLastMessage().c_str(); }

FaStatus faRuntimeCreate(const char *driver_path, FaRuntime *runtime) {
  if (!runtime)
    return missing("runtime");
  Expected<std::unique_ptr<Runtime>> created = Runtime::create(driver_path);
  if (!created)
    return finish(created.takeError());
  *runtime = reinterpret_cast<FaRuntime>(created->release());
  return FA_SUCCESS;
}

void faRuntimeDestroy(FaRuntime runtime) { delete unwrap(runtime); }

FaStatus faRuntimeGetWorkspaceSize(FaRuntime runtime, int device,
                                   size_t *bytes) {
  if (!runtime || !bytes)
    return missing(runtime ? "bytes" : "runtime");
  Expected<Device *> found = unwrap(runtime)->getDevice(device);
  if (!found)
    return finish(found.takeError());
  *bytes = (*found)->getCounters().getWorkspaceSize();
  return FA_SUCCESS;
}

FaStatus faKernelLoad(FaRuntime runtime, const char *manifest_path,
                      FaKernel *kernel) {
  if (!runtime || !manifest_path || !kernel)
    return missing(!runtime         ? "runtime"
                   : !manifest_path ? "manifest_path"
                                    : "kernel");
  KernelDescription description;
  KernelImages images;
  if (Error error = readManifestFile(manifest_path, description, images))
    return finish(std::move(error));
  return createKernel(runtime, std::move(description), std::move(images),
                      kernel);
}

FaStatus faKernelLoadFromMemory(FaRuntime runtime, const char *manifest,
                                size_t manifest_size, const void *cubin,
                                size_t cubin_size, const void *ptx,
                                size_t ptx_size, FaKernel *kernel) {
  if (!runtime || !manifest || !kernel)
    return missing(!runtime ? "runtime" : !manifest ? "manifest" : "kernel");
  Expected<Manifest> read = readManifest({manifest, manifest_size});
  if (!read)
    return finish(read.takeError());
  KernelImages images;
  if (cubin)
    if (Error error = splitCubins(
            *read, {static_cast<const char *>(cubin), cubin_size}, images))
      return finish(std::move(error));
  if (ptx)
    images.ptx.assign(static_cast<const char *>(ptx), ptx_size);
  return createKernel(runtime, std::move(read->kernel), std::move(images),
                      kernel);
}

void faKernelDestroy(FaKernel kernel) { delete unwrap(kernel); }

FaStatus faKernelPrepare(FaKernel kernel, int device) {
  if (!kernel)
    return missing("kernel");
  return finish(unwrap(kernel)->prepare(device));
}

FaStatus faKernelLaunch(FaKernel kernel, const FaArgument *arguments,
                        size_t argument_count, FaStream stream) {
  if (!kernel || (!arguments && argument_count != 0))
    return missing(kernel ? "arguments" : "kernel");
  return finish(unwrap(kernel)->launch({arguments, argument_count},
                                       reinterpret_cast<cuda::Stream>(stream)));
}
