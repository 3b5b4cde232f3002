//===- EvaluateCall.cpp - What a call computes of its arguments -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the arguments of a call and evaluates the values of its launches.
// Programs make the same call again and again, at other addresses: what recent
// calls computed is kept. Read `evaluate`, at the end, then `evaluateAnew`.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Kernel.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace mlir::fa::runtime;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

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

/// What has to be looked up is not the same the next time.
static bool isLookedUp(const FaArgument &argument) {
  return argument.rank != FA_SCALAR && argument.device == FA_DEVICE_OF_POINTER;
}

static bool isSame(const FaArgument &one, const FaArgument &other) {
  if (one.type != other.type || one.rank != other.rank)
    return false;
  if (one.rank == FA_SCALAR)
    return one.value.integer == other.value.integer;
  return one.device == other.device &&
         std::equal(one.shape, one.shape + one.rank, other.shape) &&
         std::equal(one.strides, one.strides + one.rank, other.strides);
}

bool Kernel::Evaluation::isOf(ArrayRef<FaArgument> others) const {
  return llvm::equal(arguments, others, isSame);
}

Expected<Kernel::SharedEvaluation>
Kernel::evaluateAnew(ArrayRef<FaArgument> arguments) {
  if (Error error = checkArguments(description, arguments))
    return std::move(error);
  Expected<int> ordinal = findDevice(arguments);
  if (!ordinal)
    return ordinal.takeError();
  Expected<Device *> device = runtime.getDevice(*ordinal);
  if (!device)
    return device.takeError();
  auto made = std::make_shared<Evaluation>();
  made->arguments.assign(arguments.begin(), arguments.end());
  made->device = *device;
  MissingNumbers missing;
  description.program.evaluate(
      arguments, (*device)->getLimits().multiprocessors, made->values, missing);
  if (Error error = checkRequirements(made->values, missing))
    return std::move(error);
  for (const std::unique_ptr<Launch> &launch : launches) {
    const LaunchDescription &described = *launch->description;
    LaunchShape shape = {{},
                         described.block,
                         described.cluster,
                         described.sharedMemory,
                         described.isDependent};
    if (Error error =
            getGrid(described, **device, made->values, missing, shape.grid))
      return std::move(error);
    // An empty grid has nothing to do, and is not prepared for.
    if (shape.grid[0] == 0)
      continue;
    if (Error error = checkNumbers(described, missing))
      return std::move(error);
    made->launches.push_back({launch.get(), shape});
  }
  return SharedEvaluation(std::move(made));
}

Expected<Kernel::SharedEvaluation>
Kernel::evaluate(ArrayRef<FaArgument> arguments) {
  SharedEvaluation known;
  {
    std::lock_guard<std::mutex> lock(recentMutex);
    for (const SharedEvaluation &each : recent)
      if (each && each->isOf(arguments)) {
        known = each;
        break;
      }
  }
  if (known) {
    if (Error error = checkAddresses(description, arguments))
      return std::move(error);
    return known;
  }
  Expected<SharedEvaluation> made = evaluateAnew(arguments);
  if (!made || llvm::any_of(arguments, isLookedUp))
    return made;
  std::lock_guard<std::mutex> lock(recentMutex);
  recent[nextRecent] = *made;
  nextRecent = (nextRecent + 1) % recent.size();
  return made;
}
