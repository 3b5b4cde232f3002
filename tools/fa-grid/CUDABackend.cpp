//===- CUDABackend.cpp - Problems on a CUDA device ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the problems of fa-grid on a CUDA device: copies the data in, launches
// through the runtime, copies results out. Launches of several problems can
// be mixed in one stream, to show what one leaves behind. Read `CUDABackend`,
// then `launch`.
//
//===----------------------------------------------------------------------===//

#include "Backend.h"
#include "fa/Driver/Derivation.h"
#include "fa/Driver/DeviceKernel.h"
#include "fa/Target/GPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::runtime;

//===----------------------------------------------------------------------===//
// A problem in device memory
//===----------------------------------------------------------------------===//

namespace {
/// The data of one problem in one piece of device memory, where every array has
/// the offset and the strides that it has in the data.
class DeviceProblem {
public:
  DeviceProblem(const Driver &driver, const Problem &problem)
      : driver(driver), operands(problem.getAll()) {}
  DeviceProblem(DeviceProblem &&other)
      : driver(other.driver), operands(std::move(other.operands)),
        memory(std::exchange(other.memory, 0)),
        arguments(std::move(other.arguments)) {}
  ~DeviceProblem() {
    if (memory)
      driver.cuMemFree_v2(memory);
  }

  llvm::Error copyIn(ArrayRef<char> data);
  llvm::Error copyOut(MutableArrayRef<char> data) const;
  ArrayRef<FaArgument> getArguments() const { return arguments; }

private:
  void addArgument(const Operand &operand);

  const Driver &driver;
  SmallVector<Operand> operands;
  cuda::DevicePointer memory = 0;
  SmallVector<FaArgument> arguments;
};

/// A stream of its own, which waits for copies from pageable memory: such a
/// copy may return before the device has the data, and is in the null stream.
class Stream {
public:
  explicit Stream(const Driver &driver) : driver(driver) {}
  ~Stream() {
    if (stream)
      driver.cuStreamDestroy_v2(stream);
  }
  llvm::Error create() {
    return driver.check(driver.cuStreamCreate(&stream, cuda::StreamDefault),
                        "creating a stream");
  }
  llvm::Error wait() {
    return driver.check(driver.cuStreamSynchronize(stream),
                        "waiting for the kernel");
  }
  cuda::Stream get() const { return stream; }

private:
  const Driver &driver;
  cuda::Stream stream = nullptr;
};
} // namespace

void DeviceProblem::addArgument(const Operand &operand) {
  FaArgument argument = {};
  if (operand.isShaped) {
    const View &view = operand.view;
    argument.value.data = reinterpret_cast<void *>(memory + view.offset);
    argument.type = getLauncherType(operand.elementType);
    argument.rank = view.shape.size();
    argument.device = DeviceKernel::device;
    llvm::copy(view.shape, argument.shape);
    llvm::copy(view.strides, argument.strides);
  } else {
    argument.rank = FA_SCALAR;
    bool isReal = isa<FloatType>(operand.elementType);
    argument.type = isReal ? FA_TYPE_F64 : FA_TYPE_I64;
    if (isReal)
      argument.value.real = operand.number.real;
    else
      argument.value.integer = operand.number.integer;
  }
  arguments.push_back(argument);
}

llvm::Error DeviceProblem::copyIn(ArrayRef<char> data) {
  if (!memory) {
    if (llvm::Error error =
            driver.check(driver.cuMemAlloc_v2(&memory, data.size()),
                         "allocating " + Twine(data.size()) + " bytes"))
      return error;
    for (const Operand &operand : operands)
      addArgument(operand);
  }
  return driver.check(driver.cuMemcpyHtoD_v2(memory, data.data(), data.size()),
                      "copying a problem to the device");
}

llvm::Error DeviceProblem::copyOut(MutableArrayRef<char> data) const {
  return driver.check(driver.cuMemcpyDtoH_v2(data.data(), memory, data.size()),
                      "copying a problem back");
}

//===----------------------------------------------------------------------===//
// CUDABackend
//===----------------------------------------------------------------------===//

namespace {
class CUDABackend : public Backend {
public:
  CUDABackend(StringRef chip, bool peepholes)
      : chip(chip), peepholes(peepholes) {}
  LogicalResult compile(func::FuncOp function) override;
  LogicalResult run(const Problem &problem,
                    MutableArrayRef<char> data) override;
  LogicalResult launchMany(MutableArrayRef<Inputs> problems,
                           unsigned count) override;

private:
  llvm::Error launch(const Problem &problem, MutableArrayRef<char> data);
  llvm::Error launchMixed(MutableArrayRef<Inputs> problems, unsigned count);
  llvm::Error enterDevice(ScopedContext &context);
  LogicalResult report(llvm::Error error) {
    if (!error)
      return success();
    return function.emitError(llvm::toString(std::move(error)));
  }

  std::string chip;
  bool peepholes;
  func::FuncOp function;
  std::optional<DeviceKernel> kernel;
};
} // namespace

LogicalResult CUDABackend::compile(func::FuncOp function) {
  this->function = function;
  FailureOr<DerivedSchedule> derived = derive(function, chip, peepholes);
  if (failed(derived))
    return failure();
  CompileOptions options = getDeviceCompileOptions();
  options.peepholes = peepholes;
  auto compiled = compileSchedule(derived->host, ManifestNames(), options);
  if (failed(compiled))
    return failure();
  auto cuda = Runtime::create(/*path=*/nullptr);
  if (!cuda)
    return report(cuda.takeError());
  auto loaded = DeviceKernel::load(std::move(*cuda), std::move(*compiled));
  if (!loaded)
    return report(loaded.takeError());
  kernel.emplace(std::move(*loaded));
  return success();
}

llvm::Error CUDABackend::enterDevice(ScopedContext &context) {
  auto device = kernel->getDevice();
  return device ? context.enter(**device) : device.takeError();
}

llvm::Error CUDABackend::launch(const Problem &problem,
                                MutableArrayRef<char> data) {
  ScopedContext context(kernel->getDriver());
  DeviceProblem onDevice(kernel->getDriver(), problem);
  Stream stream(kernel->getDriver());
  if (llvm::Error error = enterDevice(context))
    return error;
  if (llvm::Error error = stream.create())
    return error;
  if (llvm::Error error = onDevice.copyIn(data))
    return error;
  if (llvm::Error error =
          kernel->getKernel().launch(onDevice.getArguments(), stream.get()))
    return error;
  if (llvm::Error error = stream.wait())
    return error;
  return onDevice.copyOut(data);
}

LogicalResult CUDABackend::run(const Problem &problem,
                               MutableArrayRef<char> data) {
  return report(launch(problem, data));
}

llvm::Error CUDABackend::launchMixed(MutableArrayRef<Inputs> problems,
                                     unsigned count) {
  ScopedContext context(kernel->getDriver());
  Stream stream(kernel->getDriver());
  std::vector<DeviceProblem> onDevice;
  if (llvm::Error error = enterDevice(context))
    return error;
  if (llvm::Error error = stream.create())
    return error;
  for (const Inputs &inputs : problems)
    if (llvm::Error error =
            onDevice.emplace_back(kernel->getDriver(), inputs.problem)
                .copyIn(inputs.data))
      return error;
  std::minstd_rand random(count);
  for (unsigned i = 0; i < count; ++i) {
    // Each problem once, whatever the random numbers are.
    size_t chosen = i < onDevice.size() ? i : random() % onDevice.size();
    if (llvm::Error error = kernel->getKernel().launch(
            onDevice[chosen].getArguments(), stream.get()))
      return error;
  }
  if (llvm::Error error = stream.wait())
    return error;
  for (auto [inputs, result] : llvm::zip_equal(problems, onDevice))
    if (llvm::Error error = result.copyOut(inputs.data))
      return error;
  return llvm::Error::success();
}

LogicalResult CUDABackend::launchMany(MutableArrayRef<Inputs> problems,
                                      unsigned count) {
  return report(launchMixed(problems, count));
}

std::unique_ptr<Backend> fa::createCUDABackend(StringRef chip, bool peepholes) {
  return std::make_unique<CUDABackend>(chip, peepholes);
}

llvm::Expected<SmallVector<StringRef>> fa::findCUDAChips() {
  auto cuda = Runtime::create(/*path=*/nullptr);
  if (!cuda)
    return cuda.takeError();
  auto chips = findDeviceChips(**cuda);
  if (!chips)
    return chips.takeError();
  auto hasAsyncMatrix = [](StringRef chip) {
    return lookupGPUTarget(chip)->hasAsyncMatrix;
  };
  SmallVector<StringRef> found = {chips->back()};
  // The other form, on the newest target that has no other.
  auto other = llvm::find_if_not(llvm::reverse(*chips), hasAsyncMatrix);
  if (hasAsyncMatrix(found.front()) && other != llvm::reverse(*chips).end())
    found.push_back(*other);
  return found;
}
