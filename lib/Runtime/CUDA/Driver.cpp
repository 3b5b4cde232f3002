//===- Driver.cpp - libcuda, opened at run time ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Driver.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Twine;

/// CUDA 12.0, the first with tensor maps and stream identifiers.
static constexpr int minimumVersion = 12000;

char RuntimeError::ID = 0;

void RuntimeError::log(llvm::raw_ostream &stream) const { stream << message; }

std::error_code RuntimeError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

Error mlir::fa::runtime::makeError(FaStatus status, const Twine &message) {
  return llvm::make_error<RuntimeError>(status, message);
}

static std::string formatVersion(int version) {
  return (Twine(version / 1000) + "." + Twine(version % 1000 / 10)).str();
}

static FaStatus getStatus(cuda::Result result) {
  switch (result) {
  case cuda::OutOfMemory:
    return FA_OUT_OF_MEMORY;
  case cuda::NoDevice:
    return FA_NO_DRIVER;
  case cuda::NoBinaryForGPU:
    return FA_WRONG_ARCHITECTURE;
  case cuda::UnsupportedPTXVersion:
    return FA_DRIVER_TOO_OLD;
  case cuda::InvalidImage:
  case cuda::InvalidPTX:
  case cuda::JITCompilerNotFound:
    return FA_INVALID_IMAGE;
  case cuda::LaunchOutOfResources:
  case cuda::InvalidClusterSize:
    return FA_LAUNCH_LIMIT;
  default:
    return FA_DRIVER_ERROR;
  }
}

Error Driver::fail(cuda::Result result, const Twine &action) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (cuGetErrorName(result, &name) != cuda::Success || !name)
    name = "unknown error";
  if (cuGetErrorString(result, &text) != cuda::Success || !text)
    text = "no description";
  return makeError(getStatus(result), action + ": " + text + " (" + name +
                                          ", " + Twine(int(result)) + ")");
}

Driver::~Driver() {
  if (library)
    dlclose(library);
}

llvm::Expected<std::unique_ptr<Driver>> Driver::open(const char *path) {
  if (!path)
    path = "libcuda.so.1";
  std::unique_ptr<Driver> driver(new Driver());
  driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!driver->library) {
    const char *found = dlerror();
    StringRef reason = found ? found : "unknown reason";
    // It begins with the path, which the message has already.
    if (reason.consume_front(path))
      reason.consume_front(": ");
    return makeError(FA_NO_DRIVER,
                     Twine("cannot open the CUDA driver '") + path +
                         "': " + reason +
                         "; a GPU driver of CUDA 12.0 or later is needed");
  }

  // The version comes first: a driver that is too old lacks functions, and its
  // age is the better message.
  driver->cuDriverGetVersion = reinterpret_cast<cuDriverGetVersionType>(
      dlsym(driver->library, "cuDriverGetVersion"));
  int version = 0;
  if (!driver->cuDriverGetVersion ||
      driver->cuDriverGetVersion(&version) != cuda::Success)
    return makeError(FA_NO_DRIVER, Twine("'") + path +
                                       "' does not tell its CUDA version: it "
                                       "is no CUDA driver");
  if (version < minimumVersion)
    return makeError(FA_DRIVER_TOO_OLD,
                     "the CUDA driver '" + Twine(path) + "' supports CUDA " +
                         formatVersion(version) + "; at least " +
                         formatVersion(minimumVersion) + " is needed");

#define FA_LOAD(NAME, PARAMETERS)                                              \
  driver->NAME = reinterpret_cast<NAME##Type>(dlsym(driver->library, #NAME));
#define FA_LOAD_REQUIRED(NAME, PARAMETERS)                                     \
  FA_LOAD(NAME, PARAMETERS)                                                    \
  if (!driver->NAME)                                                           \
    return makeError(FA_NO_DRIVER, Twine("the CUDA driver '") + path +         \
                                       "' has no function " #NAME);
  FA_CUDA_DRIVER_FUNCTIONS(FA_LOAD_REQUIRED)
  FA_CUDA_OPTIONAL_DRIVER_FUNCTIONS(FA_LOAD)
#undef FA_LOAD_REQUIRED
#undef FA_LOAD

  if (Error error =
          driver->check(driver->cuInit(0),
                        Twine("initialising the CUDA driver '") + path + "'"))
    return std::move(error);
  if (Error error = driver->check(
          driver->cuDeviceGetCount(&driver->deviceCount), "counting devices"))
    return std::move(error);
  if (driver->deviceCount == 0)
    return makeError(FA_NO_DRIVER,
                     Twine("the CUDA driver '") + path + "' sees no device");
  return std::move(driver);
}

RelaxedCapture::RelaxedCapture(const Driver &driver) : driver(driver) {
  driver.cuThreadExchangeStreamCaptureMode(&mode);
}

RelaxedCapture::~RelaxedCapture() {
  driver.cuThreadExchangeStreamCaptureMode(&mode);
}
