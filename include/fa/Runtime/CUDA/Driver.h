//===- Driver.h - libcuda, opened at run time ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_DRIVER_H
#define FA_RUNTIME_CUDA_DRIVER_H

#include "fa-c/Runtime.h"
#include "fa/Runtime/CUDA/DriverAPI.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir::fa::runtime {

/// What every function of the runtime fails with.
class RuntimeError : public llvm::ErrorInfo<RuntimeError> {
public:
  static char ID;

  RuntimeError(FaStatus status, const llvm::Twine &message)
      : status(status), message(message.str()) {}

  FaStatus getStatus() const { return status; }
  const std::string &getMessage() const { return message; }
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  FaStatus status;
  std::string message;
};

llvm::Error makeError(FaStatus status, const llvm::Twine &message);

/// The driver's functions, called by the names of its manual.
class Driver : public cuda::DriverFunctions {
public:
  /// Opens and initialises the library at `path`; fails where it cannot be
  /// opened, lacks a function, is older than CUDA 12.0 or has no device.
  static llvm::Expected<std::unique_ptr<Driver>> open(const char *path);
  ~Driver();

  /// Success, or an error that says what was done, in which words the driver
  /// refused, and with the status that fits.
  llvm::Error check(cuda::Result result, const llvm::Twine &action) const {
    if (LLVM_LIKELY(result == cuda::Success))
      return llvm::Error::success();
    return fail(result, action);
  }
  llvm::Error fail(cuda::Result result, const llvm::Twine &action) const;

  int getDeviceCount() const { return deviceCount; }

private:
  Driver() = default;
  void *library = nullptr;
  int deviceCount = 0;
};

/// Lets this thread allocate and load while a stream is captured, which a
/// capture in the driver's default mode forbids to all threads. Nothing that is
/// done under it may touch the captured stream.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  const Driver &driver;
  cuda::CaptureMode mode = cuda::CaptureModeRelaxed;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_DRIVER_H
