//===- CheckNumbers.cpp - What a call computes and may be launched with ---===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Kernel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::fa::runtime;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Twine;

Error Kernel::checkRequirements(ArrayRef<Number> values,
                                const MissingNumbers &missing) const {
  for (const Requirement &requirement : description.requirements) {
    if (Error error = missing.check(requirement.condition))
      return error;
    if (LLVM_LIKELY(values[requirement.condition].integer != 0))
      continue;
    std::string message = requirement.message;
    for (auto [index, shown] : llvm::enumerate(requirement.shown)) {
      if (Error error = missing.check(shown.second))
        return error;
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

/// All zero where one dim is: then there is nothing to launch, whatever the
/// others are.
Error Kernel::getGrid(const LaunchDescription &launch, const Device &device,
                      ArrayRef<Number> values, const MissingNumbers &missing,
                      std::array<unsigned, 3> &grid) const {
  grid = {0, 0, 0};
  for (Slot slot : launch.grid)
    if (values[slot].integer == 0 && !missing.contains(slot))
      return Error::success();
  for (unsigned i = 0; i != 3; ++i) {
    if (Error error = missing.check(launch.grid[i]))
      return error;
    int64_t size = values[launch.grid[i]].integer;
    int limit = device.getLimits().grid[i];
    if (size < 0 || size > limit)
      return makeError(FA_LAUNCH_LIMIT,
                       "kernel '" + launch.name + "' needs a grid of " +
                           Twine(size) + " blocks in dim " + Twine(i) + "; " +
                           device.describe() + " allows 0 to " + Twine(limit));
    if (size % launch.cluster[i] != 0)
      return makeError(FA_LAUNCH_LIMIT,
                       "kernel '" + launch.name + "' needs a grid of " +
                           Twine(size) + " blocks in dim " + Twine(i) +
                           ", which is no multiple of its cluster of " +
                           Twine(launch.cluster[i]));
    grid[i] = size;
  }
  return Error::success();
}

Error Kernel::checkNumbers(const LaunchDescription &launch,
                           const MissingNumbers &missing) const {
  if (LLVM_LIKELY(missing.empty()))
    return Error::success();
  for (const ParameterSpec &parameter : launch.parameters) {
    llvm::SmallVector<Slot, 12> used;
    if (parameter.usesWorkspace())
      used.push_back(description.workspaces[parameter.argument].bytes);
    else if (parameter.isNumber())
      used.push_back(parameter.value);
    if (parameter.offset)
      used.push_back(*parameter.offset);
    for (auto [index, dim] : llvm::enumerate(parameter.dims)) {
      used.push_back(dim.size);
      if (index != 0)
        used.push_back(dim.stride);
    }
    for (Slot slot : used)
      if (Error error = missing.check(slot))
        return error;
  }
  return Error::success();
}
