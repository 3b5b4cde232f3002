//===- Kernel.h - Launches of one kernel -----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_KERNEL_H
#define FA_RUNTIME_CUDA_KERNEL_H

#include "fa/Runtime/CUDA/Runtime.h"
#include <array>
#include <memory>
#include <mutex>

namespace mlir::fa::runtime {

/// Grid and fixed shape of a launch.
struct LaunchShape {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  std::array<unsigned, 3> cluster;
  unsigned sharedMemory;
  /// Blocks may start before the launch ahead has ended.
  bool isDependent = false;
};

/// Enqueues one launch. `parameters` points to the value of each parameter. The
/// device's context is current; the error calls the kernel `name`.
llvm::Error launchFunction(const Driver &driver, const Device &device,
                           cuda::Function function, const LaunchShape &shape,
                           cuda::Stream stream, void **parameters,
                           llvm::StringRef name);

/// A kernel that its description tells how to launch. Thread-safe.
class Kernel {
public:
  /// Values of all parameters take this many bytes at most.
  static constexpr unsigned maxParameterBytes = 4096;

  /// Fails where the parameters do not fit or there is no image.
  static llvm::Expected<std::unique_ptr<Kernel>>
  create(Runtime &runtime, KernelDescription description, KernelImages images);

  /// Loads the kernel on a device, which its first call does otherwise.
  llvm::Error prepare(int device);

  /// Checks the arguments and enqueues all launches on `stream`.
  llvm::Error launch(llvm::ArrayRef<FaArgument> arguments, cuda::Stream stream);

  const KernelDescription &getDescription() const { return description; }

private:
  struct ParameterBuffer;

  /// What is known of one launch after the kernel is made.
  struct Launch {
    const LaunchDescription *description;
    /// Where the value of each parameter stands in a ParameterBuffer.
    llvm::SmallVector<unsigned, 12> offsets;
    std::optional<unsigned> counterParameter;
    std::atomic<cuda::Function> functions[Runtime::maxDevices] = {};
  };
  /// The same for one call.
  struct Call;
  /// What a call computes of its arguments, all but the addresses of tensors.
  struct Evaluation {
    llvm::SmallVector<FaArgument> arguments;
    Device *device;
    llvm::SmallVector<Number> values;
    /// Those that have something to do.
    llvm::SmallVector<std::pair<Launch *, LaunchShape>, 1> launches;

    bool isOf(llvm::ArrayRef<FaArgument> others) const;
  };
  using SharedEvaluation = std::shared_ptr<const Evaluation>;

  Kernel(Runtime &runtime, KernelDescription description, KernelImages images)
      : runtime(runtime), description(std::move(description)),
        images(std::move(images)) {}

  llvm::Error addLaunch(const LaunchDescription &launch);
  llvm::Expected<int> findDevice(llvm::ArrayRef<FaArgument> arguments) const;
  /// Checks arguments, and evaluates them unless a recent call had the same.
  llvm::Expected<SharedEvaluation>
  evaluate(llvm::ArrayRef<FaArgument> arguments);
  llvm::Expected<SharedEvaluation>
  evaluateAnew(llvm::ArrayRef<FaArgument> arguments);
  llvm::Error checkRequirements(llvm::ArrayRef<Number> values,
                                const MissingNumbers &missing) const;
  llvm::Error getGrid(const LaunchDescription &launch, const Device &device,
                      llvm::ArrayRef<Number> values,
                      const MissingNumbers &missing,
                      std::array<unsigned, 3> &grid) const;
  /// Fails where the launch uses a number that does not exist.
  llvm::Error checkNumbers(const LaunchDescription &launch,
                           const MissingNumbers &missing) const;
  llvm::Error
  placeEmptyTensors(Device &device, cuda::Stream stream,
                    llvm::MutableArrayRef<FaArgument> arguments) const;
  llvm::Expected<cuda::Function> getFunction(Launch &launch, Device &device);
  llvm::Expected<cuda::Function> loadFunction(const LaunchDescription &launch,
                                              Device &device);
  llvm::Error checkFunction(const LaunchDescription &launch,
                            const Device &device,
                            cuda::Function function) const;
  llvm::Error checkParameters(const LaunchDescription &launch,
                              cuda::Function function) const;
  llvm::Error fillParameters(const Launch &launch,
                             llvm::ArrayRef<FaArgument> arguments,
                             llvm::ArrayRef<Number> values,
                             ParameterBuffer &buffer);
  /// Where the argument of a parameter, or its view of one, starts.
  char *getAddress(const ParameterSpec &parameter,
                   llvm::ArrayRef<FaArgument> arguments,
                   llvm::ArrayRef<Number> values) const;
  llvm::Expected<TensorMapRequest>
  describeTensorMap(const ParameterSpec &parameter, char *address, bool isEmpty,
                    llvm::ArrayRef<Number> values) const;
  llvm::Error fillTensorMap(const ParameterSpec &parameter,
                            llvm::ArrayRef<FaArgument> arguments,
                            llvm::ArrayRef<Number> values,
                            cuda::TensorMap &map);
  /// What is known when a launch is enqueued: addresses of workspaces.
  llvm::Error fillWorkspaces(llvm::ArrayRef<Number> values,
                             llvm::ArrayRef<cuda::DevicePointer> workspaces,
                             Call &call);
  /// The argument or the workspace of a tensor map.
  llvm::StringRef getMappedName(const ParameterSpec &parameter) const;
  llvm::Error fillNumber(const LaunchDescription &launch, unsigned index,
                         llvm::ArrayRef<Number> values, void *target) const;
  llvm::Error prepareCall(Device &device, llvm::ArrayRef<FaArgument> arguments,
                          llvm::ArrayRef<Number> values, Call &call);
  llvm::Error launchAll(Device &device, llvm::ArrayRef<Number> values,
                        cuda::Stream stream, llvm::MutableArrayRef<Call> calls);
  llvm::Error enqueue(Device &device, cuda::Stream stream, Call &call);

  Runtime &runtime;
  KernelDescription description;
  KernelImages images;
  /// In the order in which they run, the kernel's own last.
  llvm::SmallVector<std::unique_ptr<Launch>, 1> launches;
  std::mutex recentMutex;
  std::array<SharedEvaluation, 4> recent;
  unsigned nextRecent = 0;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_KERNEL_H
