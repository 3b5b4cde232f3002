//===- KernelLaunch.cpp - From arguments to a launch ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the arguments of a call to its launches: evaluate them
// (EvaluateCall.cpp), fill in parameters and tensor maps, enqueue. All that can
// fail for the caller's reasons comes before the first launch. Read `launch`,
// at the end, then `prepareCall`.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Kernel.h"
#include "fa/Runtime/CUDA/RoundNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Alignment.h"
#include <cstring>

using namespace mlir::fa::runtime;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// The values of all parameters, which the driver copies at the launch.
struct Kernel::ParameterBuffer {
  /// Aligned for tensor maps, which LLVM's vectors are not where they allocate.
  char *getStart() {
    return reinterpret_cast<char *>(llvm::alignAddr(bytes, alignment));
  }

private:
  static constexpr llvm::Align alignment =
      llvm::Align::Constant<alignof(cuda::TensorMap)>();
  char bytes[maxParameterBytes + alignof(cuda::TensorMap)];
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
  const auto &[grid, block, cluster, sharedMemory, isDependent] = shape;
  cuda::Result result;
  bool hasCluster = cluster[0] * cluster[1] * cluster[2] > 1;
  if (!hasCluster && !isDependent) {
    result = driver.cuLaunchKernel(function, grid[0], grid[1], grid[2],
                                   block[0], block[1], block[2], sharedMemory,
                                   stream, parameters, nullptr);
  } else {
    cuda::LaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (hasCluster) {
      attributes[count].id = cuda::LaunchAttributeClusterDimension;
      llvm::copy(cluster, attributes[count++].value.clusterDimension);
    }
    if (isDependent) {
      attributes[count].id =
          cuda::LaunchAttributeProgrammaticStreamSerialization;
      attributes[count++].value.isSerializationProgrammatic = 1;
    }
    cuda::LaunchConfig config = {{grid[0], grid[1], grid[2]},
                                 {block[0], block[1], block[2]},
                                 sharedMemory,
                                 stream,
                                 attributes,
                                 count};
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

StringRef Kernel::getMappedName(const ParameterSpec &parameter) const {
  return parameter.isOfWorkspace
             ? description.workspaces[parameter.argument].name
             : description.arguments[parameter.argument].name;
}

Expected<TensorMapRequest>
Kernel::describeTensorMap(const ParameterSpec &parameter, char *address,
                          bool isEmpty, ArrayRef<Number> values) const {
  TensorMapRequest request;
  request.address = reinterpret_cast<uintptr_t>(address);
  request.rank = parameter.dims.size();
  request.type = getTensorMapType(parameter.type);
  request.swizzle = parameter.swizzle;
  request.promotion = parameter.promotion;
  request.fillsNaN = parameter.fillsNaN;
  for (auto [index, dim] : llvm::enumerate(parameter.dims)) {
    request.sizes[index] = values[dim.size].integer;
    request.box[index] = dim.box;
    if (index != 0)
      request.strides[index - 1] =
          uint64_t(values[dim.stride].integer) * getSize(parameter.type);
  }
  if (isEmpty)
    describeOneElement(request);
  if (Error error = normalize(request, getMappedName(parameter)))
    return error;
  return request;
}

static bool hasEmptyDim(const ParameterSpec &map, ArrayRef<Number> values) {
  return llvm::any_of(map.dims, [&](const MapDim &dim) {
    return values[dim.size].integer == 0;
  });
}

Error Kernel::fillTensorMap(const ParameterSpec &parameter,
                            ArrayRef<FaArgument> arguments,
                            ArrayRef<Number> values, cuda::TensorMap &map) {
  bool isEmpty = hasEmptyDim(parameter, values);
  // Of a workspace, whose address is not known yet, what can be wrong is found.
  if (parameter.isOfWorkspace)
    return describeTensorMap(parameter, nullptr, isEmpty, values).takeError();
  const FaArgument &argument = arguments[parameter.argument];
  isEmpty |= isEmptyTensor(description.arguments[parameter.argument], argument);
  char *address = isEmpty ? static_cast<char *>(argument.value.data)
                          : getAddress(parameter, arguments, values);
  auto request = describeTensorMap(parameter, address, isEmpty, values);
  if (!request)
    return request.takeError();
  return runtime.getTensorMaps().get(*request, getMappedName(parameter), map);
}

/// Writes a number as a `T` to where a parameter lies.
template <typename T, typename NumberT>
static void store(void *target, NumberT number) {
  T stored = static_cast<T>(number);
  std::memcpy(target, &stored, sizeof(stored));
}

static FaDataType getType(ParameterSpec::Kind kind) {
  switch (kind) {
  case ParameterSpec::I1:
    return FA_TYPE_I1;
  case ParameterSpec::I8:
    return FA_TYPE_I8;
  case ParameterSpec::I32:
    return FA_TYPE_I32;
  case ParameterSpec::I64:
    return FA_TYPE_I64;
  case ParameterSpec::F16:
    return FA_TYPE_F16;
  case ParameterSpec::BF16:
    return FA_TYPE_BF16;
  case ParameterSpec::F32:
    return FA_TYPE_F32;
  case ParameterSpec::F64:
    return FA_TYPE_F64;
  default:
    llvm_unreachable("a parameter that is no number");
  }
}

Error Kernel::fillNumber(const LaunchDescription &launch, unsigned index,
                         ArrayRef<Number> values, void *target) const {
  const ParameterSpec &parameter = launch.parameters[index];
  Number value = values[parameter.value];
  bool isReal = description.program.isReal(parameter.value);
  FaDataType type = getType(parameter.kind);
  if (parameter.isReal()) {
    double real = isReal ? value.real : double(value.integer);
    if (type == FA_TYPE_F64)
      store<double>(target, real);
    else if (type == FA_TYPE_F32)
      store<float>(target, real);
    else
      store<uint16_t>(target, getHalfBits(type, real));
    return Error::success();
  }
  auto [least, greatest] = getIntegerRange(type);
  if (value.integer < least || value.integer > greatest)
    return makeError(FA_INVALID_ARGUMENT,
                     "parameter " + Twine(index) + " of kernel '" +
                         launch.name + "' is of type " + getName(type) +
                         ", got " + Twine(value.integer) + "; at most " +
                         Twine(greatest) + " can be passed");
  switch (getSize(type)) {
  case 1:
    store<int8_t>(target, value.integer);
    break;
  case 4:
    store<int32_t>(target, value.integer);
    break;
  default:
    store<int64_t>(target, value.integer);
  }
  return Error::success();
}

Error Kernel::fillParameters(const Launch &launch,
                             ArrayRef<FaArgument> arguments,
                             ArrayRef<Number> values, ParameterBuffer &buffer) {
  const LaunchDescription &described = *launch.description;
  for (auto [index, parameter] : llvm::enumerate(described.parameters)) {
    char *target = buffer.getStart() + launch.offsets[index];
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
    case ParameterSpec::Workspace:
      // Known when the launch is enqueued.
      break;
    default:
      if (Error error = fillNumber(described, index, values, target))
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

/// One launch of a call: all that it needs but workspaces and counters.
struct Kernel::Call {
  // The buffer is not cleared.
  Call(Launch *launch, const LaunchShape &shape)
      : launch(launch), shape(shape) {}

  Launch *launch;
  const LaunchShape &shape;
  cuda::Function function = nullptr;
  ParameterBuffer buffer;
  llvm::SmallVector<void *, 32> parameters;
};

/// All that can fail for the caller's reasons, so that a call that fails
/// launches nothing.
Error Kernel::prepareCall(Device &device, ArrayRef<FaArgument> arguments,
                          ArrayRef<Number> values, Call &call) {
  if (Error error =
          fillParameters(*call.launch, arguments, values, call.buffer))
    return error;
  for (unsigned offset : call.launch->offsets)
    call.parameters.push_back(call.buffer.getStart() + offset);
  Expected<cuda::Function> function = getFunction(*call.launch, device);
  if (!function)
    return function.takeError();
  call.function = *function;
  return Error::success();
}

Error Kernel::enqueue(Device &device, cuda::Stream stream, Call &call) {
  const Driver &driver = runtime.getDriver();
  auto start = [&] {
    return launchFunction(driver, device, call.function, call.shape, stream,
                          call.parameters.data(),
                          call.launch->description->name);
  };
  std::optional<unsigned> counter = call.launch->counterParameter;
  if (!counter)
    return start();
  Expected<CounterPool::Lease> lease = device.getCounters().take(stream);
  if (!lease)
    return lease.takeError();
  std::memcpy(call.parameters[*counter], &lease->address,
              sizeof(lease->address));
  Error error = start();
  Error finishError = device.getCounters().finish(*lease, stream);
  // The first error is the one to act on.
  if (!error)
    return finishError;
  consumeError(std::move(finishError));
  return error;
}

static bool usesWorkspace(const LaunchDescription &launch, unsigned number) {
  return llvm::any_of(launch.parameters, [&](const ParameterSpec &parameter) {
    return parameter.usesWorkspace() && parameter.argument == number;
  });
}

Error Kernel::fillWorkspaces(ArrayRef<Number> values,
                             ArrayRef<cuda::DevicePointer> workspaces,
                             Call &call) {
  for (auto [parameter, target] :
       llvm::zip(call.launch->description->parameters, call.parameters)) {
    if (!parameter.usesWorkspace())
      continue;
    cuda::DevicePointer address = workspaces[parameter.argument];
    if (parameter.kind == ParameterSpec::Workspace) {
      std::memcpy(target, &address, sizeof(address));
      continue;
    }
    auto request =
        describeTensorMap(parameter, reinterpret_cast<char *>(address),
                          hasEmptyDim(parameter, values), values);
    if (!request)
      return request.takeError();
    if (Error error = runtime.getTensorMaps().get(
            *request, getMappedName(parameter),
            *static_cast<cuda::TensorMap *>(target)))
      return error;
  }
  return Error::success();
}

/// Enqueues launches between taking and giving back their workspaces.
Error Kernel::launchAll(Device &device, ArrayRef<Number> values,
                        cuda::Stream stream,
                        llvm::MutableArrayRef<Call> calls) {
  llvm::SmallVector<cuda::DevicePointer, 1> workspaces;
  Error error = Error::success();
  for (auto [number, spec] : llvm::enumerate(description.workspaces)) {
    // What no launch uses need not have a size.
    if (!llvm::any_of(calls, [&, number = number](const Call &call) {
          return usesWorkspace(*call.launch->description, number);
        })) {
      workspaces.push_back(0);
      continue;
    }
    int64_t bytes = values[spec.bytes].integer;
    if (bytes < 0)
      error = makeError(FA_INVALID_ARGUMENT,
                        "workspace '" + spec.name + "' of kernel '" +
                            description.name + "' has " + Twine(bytes) +
                            " bytes, expected at least 0");
    if (error)
      break;
    // No allocation is empty.
    auto address =
        device.getWorkspaces().allocate(std::max<int64_t>(bytes, 1), stream);
    if (!address) {
      error = address.takeError();
      break;
    }
    workspaces.push_back(*address);
  }
  for (Call &call : calls) {
    if (error)
      break;
    error = fillWorkspaces(values, workspaces, call);
    if (!error)
      error = enqueue(device, stream, call);
  }
  for (cuda::DevicePointer address : workspaces) {
    if (!address)
      continue;
    Error releaseError = device.getWorkspaces().release(address, stream);
    if (!error)
      error = std::move(releaseError);
    else
      consumeError(std::move(releaseError));
  }
  return error;
}

Error Kernel::launch(ArrayRef<FaArgument> arguments, cuda::Stream stream) {
  Expected<SharedEvaluation> evaluated = evaluate(arguments);
  if (!evaluated)
    return evaluated.takeError();
  const Evaluation &known = **evaluated;
  if (known.launches.empty())
    return Error::success();
  Device &device = *known.device;
  ScopedContext scope(runtime.getDriver());
  if (Error error = scope.enter(device))
    return error;
  llvm::SmallVector<FaArgument, 0> placed;
  if (LLVM_UNLIKELY(hasEmptyTensor(description, arguments))) {
    placed.assign(arguments.begin(), arguments.end());
    if (Error error = placeEmptyTensors(device, stream, placed))
      return error;
    arguments = placed;
  }
  llvm::SmallVector<Call, 2> calls;
  calls.reserve(known.launches.size());
  for (const auto &[launch, shape] : known.launches)
    if (Error error = prepareCall(device, arguments, known.values,
                                  calls.emplace_back(launch, shape)))
      return error;
  return launchAll(device, known.values, stream, calls);
}
