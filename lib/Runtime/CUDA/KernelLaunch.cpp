//===- KernelLaunch.cpp - From arguments to a launch ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Kernel.h"

#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace mlir::fa::runtime;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// The values of all parameters, which the driver copies at the launch.
struct Kernel::ParameterBuffer {
  alignas(alignof(cuda::TensorMap)) char bytes[maxParameterBytes];
};

static std::string formatSizes(ArrayRef<unsigned> sizes) {
  return (Twine(sizes[0]) + "x" + Twine(sizes[1]) + "x" + Twine(sizes[2]))
      .str();
}

Error mlir::fa::runtime::launchFunction(const Driver &driver,
                                        const Device &device,
                                        cuda::Function function,
                                        const LaunchShape &shape,
                                        cuda::Stream stream, void **parameters,
                                        StringRef name) {
  const auto &[grid, block, cluster, sharedMemory] = shape;
  cuda::Result result;
  if (cluster[0] * cluster[1] * cluster[2] == 1) {
    result = driver.cuLaunchKernel(function, grid[0], grid[1], grid[2],
                                   block[0], block[1], block[2], sharedMemory,
                                   stream, parameters, nullptr);
  } else {
    cuda::LaunchAttribute attribute = {};
    attribute.id = cuda::LaunchAttributeClusterDimension;
    llvm::copy(cluster, attribute.value.clusterDimension);
    cuda::LaunchConfig config = {{grid[0], grid[1], grid[2]},
                                 {block[0], block[1], block[2]},
                                 sharedMemory,
                                 stream,
                                 &attribute,
                                 1};
    result = driver.cuLaunchKernelEx(&config, function, parameters, nullptr);
  }
  if (LLVM_LIKELY(result == cuda::Success))
    return Error::success();
  StringRef hint = result == cuda::InvalidHandle
                       ? "; is the stream one of this device?"
                       : "";
  return driver.fail(result,
                     "launching kernel '" + name + "' on " + device.describe() +
                         " with grid " + formatSizes(grid) + ", block " +
                         formatSizes(block) + ", cluster " +
                         formatSizes(cluster) + " and " + Twine(sharedMemory) +
                         " bytes of shared memory" + hint);
}

static bool isEmptyTensor(const ArgumentSpec &spec,
                          const FaArgument &argument) {
  return !spec.isScalar &&
         llvm::is_contained(ArrayRef(argument.shape, argument.rank), 0);
}

/// All tensors are on one device. Those without elements may be anywhere; a
/// launch without any other tensor is for the first device.
Expected<int> Kernel::findDevice(ArrayRef<FaArgument> arguments) const {
  std::optional<int> device;
  StringRef first;
  for (auto [spec, argument] : llvm::zip(description.arguments, arguments)) {
    if (spec.isScalar || isEmptyTensor(spec, argument))
      continue;
    int ordinal = argument.device;
    if (ordinal == FA_DEVICE_OF_POINTER) {
      Expected<int> found = runtime.getDeviceOf(argument.value.data, spec.name);
      if (!found)
        return found.takeError();
      ordinal = *found;
    }
    if (device && ordinal != *device)
      return makeError(FA_INVALID_ARGUMENT,
                       "argument '" + Twine(spec.name) + "' is on device " +
                           Twine(ordinal) + ", but argument '" + first +
                           "' is on device " + Twine(*device));
    if (!device)
      first = spec.name;
    device = ordinal;
  }
  return device.value_or(0);
}

Error Kernel::checkRequirements(ArrayRef<Number> values) const {
  for (const Requirement &requirement : description.requirements) {
    if (LLVM_LIKELY(values[requirement.condition].integer != 0))
      continue;
    std::string message = requirement.message;
    for (auto [index, shown] : llvm::enumerate(requirement.shown)) {
      const Number &value = values[shown.second];
      message += index == 0 ? ": " : ", ";
      message += shown.first + " is ";
      message += description.program.isReal(shown.second)
                     ? std::to_string(value.real)
                     : std::to_string(value.integer);
    }
    return makeError(FA_INVALID_ARGUMENT,
                     "kernel '" + description.name + "': " + message);
  }
  return Error::success();
}

/// All zero where one dim is: then there is nothing to launch.
Error Kernel::getGrid(const Device &device, ArrayRef<Number> values,
                      std::array<unsigned, 3> &grid) const {
  bool isEmpty = false;
  for (unsigned i = 0; i != 3; ++i) {
    int64_t size = values[description.grid[i]].integer;
    int limit = device.getLimits().grid[i];
    if (size < 0 || size > limit)
      return makeError(FA_LAUNCH_LIMIT,
                       "kernel '" + description.name + "' needs a grid of " +
                           Twine(size) + " blocks in dim " + Twine(i) + "; " +
                           device.describe() + " allows 0 to " + Twine(limit));
    if (size % description.cluster[i] != 0)
      return makeError(FA_LAUNCH_LIMIT,
                       "kernel '" + description.name + "' needs a grid of " +
                           Twine(size) + " blocks in dim " + Twine(i) +
                           ", which is no multiple of its cluster of " +
                           Twine(description.cluster[i]));
    isEmpty |= size == 0;
    grid[i] = size;
  }
  if (isEmpty)
    grid = {0, 0, 0};
  return Error::success();
}

char *Kernel::getAddress(const ParameterSpec &parameter,
                         ArrayRef<FaArgument> arguments,
                         ArrayRef<Number> values) const {
  const FaArgument &argument = arguments[parameter.argument];
  const ArgumentSpec &spec = description.arguments[parameter.argument];
  auto *start = static_cast<char *>(argument.value.data);
  // A view of nothing is read from where nothing is.
  if (!parameter.offset || isEmptyTensor(spec, argument))
    return start;
  return start + values[*parameter.offset].integer * getSize(spec.type);
}

Error Kernel::fillTensorMap(const ParameterSpec &parameter,
                            ArrayRef<FaArgument> arguments,
                            ArrayRef<Number> values, cuda::TensorMap &map) {
  const ArgumentSpec &spec = description.arguments[parameter.argument];
  TensorMapRequest request;
  request.address =
      reinterpret_cast<uintptr_t>(getAddress(parameter, arguments, values));
  request.rank = parameter.dims.size();
  request.type = getTensorMapType(spec.type);
  request.swizzle = parameter.swizzle;
  request.promotion = parameter.promotion;
  for (auto [index, dim] : llvm::enumerate(parameter.dims)) {
    request.sizes[index] = values[dim.size].integer;
    request.box[index] = dim.box;
    if (index != 0)
      request.strides[index - 1] =
          uint64_t(values[dim.stride].integer) * getSize(spec.type);
  }
  bool isEmpty = llvm::any_of(parameter.dims, [&](const MapDim &dim) {
    return values[dim.size].integer == 0;
  });
  if (isEmpty || isEmptyTensor(spec, arguments[parameter.argument])) {
    request.address =
        reinterpret_cast<uintptr_t>(arguments[parameter.argument].value.data);
    describeOneElement(request);
  }
  if (Error error = normalize(request, spec.name))
    return error;
  return runtime.getTensorMaps().get(request, spec.name, map);
}

Error Kernel::fillNumber(unsigned index, ArrayRef<Number> values,
                         void *target) const {
  const ParameterSpec &parameter = description.parameters[index];
  Number value = values[parameter.value];
  bool isReal = description.program.isReal(parameter.value);
  double real = isReal ? value.real : double(value.integer);
  switch (parameter.kind) {
  case ParameterSpec::I32: {
    if (value.integer < INT32_MIN || value.integer > INT32_MAX)
      return makeError(FA_INVALID_ARGUMENT,
                       "parameter " + Twine(index) + " of kernel '" +
                           description.name + "' is of type i32, got " +
                           Twine(value.integer) +
                           "; at most 2147483647 can be passed");
    int32_t integer = value.integer;
    std::memcpy(target, &integer, sizeof(integer));
    break;
  }
  case ParameterSpec::F32: {
    float single = real;
    std::memcpy(target, &single, sizeof(single));
    break;
  }
  case ParameterSpec::F64:
    std::memcpy(target, &real, sizeof(real));
    break;
  default:
    std::memcpy(target, &value.integer, sizeof(value.integer));
  }
  return Error::success();
}

Error Kernel::fillParameters(ArrayRef<FaArgument> arguments,
                             ArrayRef<Number> values, ParameterBuffer &buffer) {
  for (auto [index, parameter] : llvm::enumerate(description.parameters)) {
    char *target = buffer.bytes + offsets[index];
    switch (parameter.kind) {
    case ParameterSpec::TensorMap:
      if (Error error =
              fillTensorMap(parameter, arguments, values,
                            *reinterpret_cast<cuda::TensorMap *>(target)))
        return error;
      break;
    case ParameterSpec::Pointer: {
      char *address = getAddress(parameter, arguments, values);
      std::memcpy(target, &address, sizeof(address));
      break;
    }
    case ParameterSpec::Counter:
      break;
    default:
      if (Error error = fillNumber(index, values, target))
        return error;
    }
  }
  return Error::success();
}

static bool hasEmptyTensor(const KernelDescription &description,
                           ArrayRef<FaArgument> arguments) {
  for (auto [spec, argument] : llvm::zip(description.arguments, arguments))
    if (isEmptyTensor(spec, argument))
      return true;
  return false;
}

/// The device translates the address of a copy even where it copies nothing,
/// and a tensor without elements may have none: it gets that of zeros.
Error Kernel::placeEmptyTensors(
    Device &device, cuda::Stream stream,
    llvm::MutableArrayRef<FaArgument> arguments) const {
  Expected<cuda::DevicePointer> zeros = device.getCounters().getZeros(stream);
  if (!zeros)
    return zeros.takeError();
  for (auto [spec, argument] : llvm::zip(description.arguments, arguments))
    if (isEmptyTensor(spec, argument))
      argument.value.data = reinterpret_cast<void *>(*zeros);
  return Error::success();
}

Error Kernel::launch(ArrayRef<FaArgument> arguments, cuda::Stream stream) {
  if (Error error = checkArguments(description, arguments))
    return error;
  Expected<int> ordinal = findDevice(arguments);
  if (!ordinal)
    return ordinal.takeError();
  Expected<Device *> found = runtime.getDevice(*ordinal);
  if (!found)
    return found.takeError();
  Device &device = **found;

  llvm::SmallVector<Number, 96> values;
  if (Error error = description.program.evaluate(
          arguments, device.getLimits().multiprocessors, values))
    return error;
  if (Error error = checkRequirements(values))
    return error;
  LaunchShape shape = {
      {}, description.block, description.cluster, description.sharedMemory};
  if (Error error = getGrid(device, values, shape.grid))
    return error;
  if (shape.grid[0] == 0)
    return Error::success();

  const Driver &driver = runtime.getDriver();
  ScopedContext scope(driver);
  if (Error error = scope.enter(device))
    return error;
  llvm::SmallVector<FaArgument, 0> placed;
  if (LLVM_UNLIKELY(hasEmptyTensor(description, arguments))) {
    placed.assign(arguments.begin(), arguments.end());
    if (Error error = placeEmptyTensors(device, stream, placed))
      return error;
    arguments = placed;
  }
  ParameterBuffer buffer;
  if (Error error = fillParameters(arguments, values, buffer))
    return error;
  llvm::SmallVector<void *, 32> parameters;
  for (unsigned offset : offsets)
    parameters.push_back(buffer.bytes + offset);

  Expected<cuda::Function> function = getFunction(device);
  if (!function)
    return function.takeError();
  if (!counterParameter)
    return launchFunction(driver, device, *function, shape, stream,
                          parameters.data(), description.name);

  Expected<CounterPool::Lease> lease = device.getCounters().take(stream);
  if (!lease)
    return lease.takeError();
  std::memcpy(parameters[*counterParameter], &lease->address,
              sizeof(lease->address));
  Error error = launchFunction(driver, device, *function, shape, stream,
                               parameters.data(), description.name);
  Error finishError = device.getCounters().finish(*lease, stream);
  // The first error is the one to act on.
  if (!error)
    return finishError;
  consumeError(std::move(finishError));
  return error;
}
