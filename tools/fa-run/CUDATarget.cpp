//===- CUDATarget.cpp - Runs GPU schedules on a CUDA device ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a host function for a CUDA device, and runs and times it there.
// Arguments are copied to device memory and back; time is the device's,
// between two events. Read `CUDATarget::run` and `measure`, then
// `DeviceArguments`.
//
//===----------------------------------------------------------------------===//

#include "CUDATarget.h"
#include "PlacedBuffer.h"
#include "Program.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include <chrono>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::runtime;

static LogicalResult report(llvm::Error error) {
  if (!error)
    return success();
  return reportError("--target=cuda: " + llvm::toString(std::move(error)));
}

bool fa::hasCUDADevice() {
  auto driver = Driver::open(/*path=*/nullptr);
  if (!driver)
    llvm::consumeError(driver.takeError());
  return bool(driver);
}

FailureOr<StringRef> fa::getDeviceChip() {
  auto cuda = Runtime::create(/*path=*/nullptr);
  if (!cuda)
    return report(cuda.takeError());
  auto chips = findDeviceChips(**cuda);
  if (!chips)
    return report(chips.takeError());
  // The last one has most features.
  return chips->back();
}

//===----------------------------------------------------------------------===//
// Memory and time on the device
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a launch, with memrefs in device memory; a stream, and two
/// events. All is freed with this object.
class DeviceArguments {
public:
  explicit DeviceArguments(const Driver &driver)
      : driver(driver), context(driver) {}
  ~DeviceArguments();

  /// Buffers of arguments of these types.
  llvm::Error copyIn(const Device &device, MutableArrayRef<HostBuffer> buffers,
                     TypeRange types);
  /// To the buffers that have come in.
  llvm::Error copyOut();
  llvm::Error wait() {
    return driver.check(driver.cuStreamSynchronize(stream),
                        "waiting for the kernel");
  }
  /// Seconds that the device takes for what `enqueue` puts on the stream.
  llvm::Expected<double> measure(llvm::function_ref<llvm::Error()> enqueue);

  ArrayRef<FaArgument> getArguments() const { return arguments; }
  cuda::Stream getStream() const { return stream; }

private:
  llvm::Error add(HostBuffer &buffer, Type type);

  const Driver &driver;
  ScopedContext context;
  cuda::Stream stream = nullptr;
  cuda::Event start = nullptr, end = nullptr;
  /// Of each argument; 0 for a scalar.
  SmallVector<cuda::DevicePointer> memory;
  SmallVector<PlacedBuffer> placed;
  SmallVector<FaArgument> arguments;
};
} // namespace

DeviceArguments::~DeviceArguments() {
  if (stream)
    driver.cuStreamSynchronize(stream);
  for (cuda::DevicePointer address : memory)
    if (address)
      driver.cuMemFree_v2(address);
  for (cuda::Event event : {start, end})
    if (event)
      driver.cuEventDestroy_v2(event);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
}

llvm::Error DeviceArguments::add(HostBuffer &buffer, Type type) {
  FaArgument argument = {};
  PlacedBuffer &source = placed.emplace_back(buffer, type);
  if (!isa<ShapedType>(type)) {
    bool isReal = isa<FloatType>(buffer.elementType);
    argument.type = isReal ? FA_TYPE_F64 : FA_TYPE_I64;
    argument.rank = FA_SCALAR;
    if (isReal)
      argument.value.real = buffer.get(0).real;
    else
      argument.value.integer = buffer.get(0).integer;
    memory.push_back(0);
    arguments.push_back(argument);
    return llvm::Error::success();
  }
  cuda::DevicePointer address = 0;
  // A tensor without elements has an address too.
  size_t bytes = std::max<size_t>(buffer.bytes.size(), 16);
  if (llvm::Error error = driver.check(driver.cuMemAlloc_v2(&address, bytes),
                                       "allocating " + Twine(bytes) + " bytes"))
    return error;
  memory.push_back(address);
  argument.value.data = reinterpret_cast<void *>(address);
  argument.type = getLauncherType(buffer.elementType);
  argument.rank = buffer.shape.size();
  argument.device = DeviceKernel::device;
  llvm::copy(source.getShape(), argument.shape);
  llvm::copy(source.getStrides(), argument.strides);
  arguments.push_back(argument);
  return driver.check(driver.cuMemcpyHtoD_v2(address, source.getBytes().data(),
                                             source.getBytes().size()),
                      "copying an argument to the device");
}

llvm::Error DeviceArguments::copyIn(const Device &device,
                                    MutableArrayRef<HostBuffer> buffers,
                                    TypeRange types) {
  if (llvm::Error error = context.enter(device))
    return error;
  for (auto [buffer, type] : llvm::zip_equal(buffers, types))
    if (llvm::Error error = add(buffer, type))
      return error;
  // Waits for the copies, which may return before the device has the data: from
  // pageable memory they are in the null stream.
  if (llvm::Error error =
          driver.check(driver.cuStreamCreate(&stream, cuda::StreamDefault),
                       "creating a stream"))
    return error;
  for (cuda::Event *event : {&start, &end})
    if (llvm::Error error = driver.check(
            driver.cuEventCreate(event, /*flags=*/0), "creating an event"))
      return error;
  return llvm::Error::success();
}

llvm::Error DeviceArguments::copyOut() {
  for (auto [buffer, address] : llvm::zip_equal(placed, memory)) {
    if (!address)
      continue;
    std::vector<char> &bytes = buffer.getBytes();
    if (llvm::Error error = driver.check(
            driver.cuMemcpyDtoH_v2(bytes.data(), address, bytes.size()),
            "copying an argument back"))
      return error;
    buffer.copyBack();
  }
  return llvm::Error::success();
}

llvm::Expected<double>
DeviceArguments::measure(llvm::function_ref<llvm::Error()> enqueue) {
  if (llvm::Error error = driver.check(driver.cuEventRecord(start, stream),
                                       "recording an event"))
    return std::move(error);
  if (llvm::Error error = enqueue())
    return std::move(error);
  if (llvm::Error error =
          driver.check(driver.cuEventRecord(end, stream), "recording an event"))
    return std::move(error);
  if (llvm::Error error = wait())
    return std::move(error);
  float milliseconds = 0;
  if (llvm::Error error = driver.check(
          driver.cuEventElapsedTime(&milliseconds, start, end), "reading time"))
    return std::move(error);
  return milliseconds * 1e-3;
}

//===----------------------------------------------------------------------===//
// CUDATarget
//===----------------------------------------------------------------------===//

FailureOr<CUDATarget> CUDATarget::compile(func::FuncOp host, bool peepholes) {
  using Clock = std::chrono::steady_clock;
  if (!fagpu::findLaunch(host))
    return reportError(
        "--target=cuda runs functions with an attention or a fagpu.launch, "
        "but '" +
        host.getName() + "' has neither");
  auto cuda = Runtime::create(/*path=*/nullptr);
  if (!cuda)
    return report(cuda.takeError());
  auto start = Clock::now();
  CompileOptions options = getDeviceCompileOptions();
  options.peepholes = peepholes;
  auto compiled = compileSchedule(host, ManifestNames(), options);
  if (failed(compiled))
    return failure();
  auto kernel = DeviceKernel::load(std::move(*cuda), std::move(*compiled));
  if (!kernel)
    return report(kernel.takeError());
  CUDATarget target(std::move(*kernel));
  target.types = llvm::to_vector(host.getArgumentTypes());
  target.compileSeconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  return target;
}

LogicalResult CUDATarget::run(MutableArrayRef<HostBuffer> arguments) {
  auto onDevice = kernel.getDevice();
  if (!onDevice)
    return report(onDevice.takeError());
  DeviceArguments copies(kernel.getDriver());
  if (failed(report(copies.copyIn(**onDevice, arguments, types))) ||
      failed(report(kernel.getKernel().launch(copies.getArguments(),
                                              copies.getStream()))) ||
      failed(report(copies.wait())))
    return failure();
  return report(copies.copyOut());
}

FailureOr<Timing> CUDATarget::measure(MutableArrayRef<HostBuffer> arguments) {
  auto onDevice = kernel.getDevice();
  if (!onDevice)
    return report(onDevice.takeError());
  DeviceArguments copies(kernel.getDriver());
  if (failed(report(copies.copyIn(**onDevice, arguments, types))))
    return failure();
  std::vector<double> times;
  auto launch = [&] {
    return kernel.getKernel().launch(copies.getArguments(), copies.getStream());
  };
  // The wall clock says when there are enough; the device's events, how long.
  auto timing = measureTime([&]() -> LogicalResult {
    auto seconds = copies.measure(launch);
    if (!seconds)
      return report(seconds.takeError());
    times.push_back(*seconds);
    return success();
  });
  if (failed(timing))
    return failure();
  llvm::sort(times);
  return Timing{times[times.size() / 2], static_cast<unsigned>(times.size())};
}
