//===- CPUTarget.cpp - Runs compiled functions on this machine ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUTarget.h"
#include <chrono>

using namespace mlir;
using namespace mlir::fa;

/// Fails for an interface that buffers cannot serve.
static LogicalResult checkInterface(func::FuncOp function) {
  if (!function.isPublic())
    return function.emitError("'")
           << function.getName() << "' is private: an entry must be public";
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return function.emitError("'")
             << function.getName() << "' result " << i << " has type " << type
             << ", but the CPU target returns tensors only";
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    bool isStrided = succeeded(memref.getStridesAndOffset(strides, offset));
    int64_t expected = 1;
    for (int64_t dim = memref.getRank() - 1; isStrided && dim >= 0; --dim) {
      isStrided &= ShapedType::isDynamic(strides[dim]) ||
                   ShapedType::isDynamic(expected) || strides[dim] == expected;
      expected = ShapedType::isDynamic(expected) || memref.isDynamicDim(dim)
                     ? ShapedType::kDynamic
                     : expected * memref.getDimSize(dim);
    }
    if (!isStrided || (!ShapedType::isDynamic(offset) && offset != 0))
      return function.emitError("'")
             << function.getName() << "' argument " << i << " has type " << type
             << ", but buffers are row-major: use dynamic strides";
  }
  return success();
}

FailureOr<CPUTarget> CPUTarget::compile(func::FuncOp function) {
  if (failed(checkInterface(function)))
    return failure();
  CPUTarget target;
  target.function = function;
  auto start = std::chrono::steady_clock::now();
  auto compiled = compileToCPU(function->getParentOfType<ModuleOp>());
  if (failed(compiled))
    return failure();
  target.module = std::move(*compiled);
  auto code = target.module->lookup(function.getName());
  if (!code)
    return function.emitError() << llvm::toString(code.takeError());
  target.code = *code;
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  target.compileSeconds = elapsed.count();
  return target;
}

LogicalResult CPUTarget::run(MutableArrayRef<HostBuffer> arguments,
                             MutableArrayRef<HostBuffer> results) {
  std::vector<MemRefDescriptor> descriptors;
  descriptors.reserve(arguments.size() + results.size());
  SmallVector<void *> pointers;
  auto addMemRef = [&](HostBuffer &buffer) {
    descriptors.emplace_back(buffer.bytes.data(), buffer.shape);
    pointers.push_back(descriptors.back().get());
  };
  for (auto [buffer, type] :
       llvm::zip_equal(arguments, function.getArgumentTypes())) {
    if (isa<ShapedType>(type))
      addMemRef(buffer);
    else
      pointers.push_back(buffer.bytes.data());
  }
  for (HostBuffer &buffer : results)
    addMemRef(buffer);
  if (llvm::Error error = module->invoke(function.getName(), pointers))
    return function.emitError() << llvm::toString(std::move(error));
  return success();
}
