//===- CPUTarget.cpp - Runs compiled functions on this machine ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUTarget.h"
#include "fa/Driver/CPUFunction.h"
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
    SmallVector<int64_t> placement = getPlacement(memref);
    for (int64_t dim : llvm::reverse(placement)) {
      if (!isStrided)
        break;
      isStrided &= ShapedType::isDynamic(strides[dim]) ||
                   ShapedType::isDynamic(expected) || strides[dim] == expected;
      expected = ShapedType::isDynamic(expected) || memref.isDynamicDim(dim)
                     ? ShapedType::kDynamic
                     : expected * memref.getDimSize(dim);
    }
    if (!isStrided || (!ShapedType::isDynamic(offset) && offset != 0))
      return function.emitError("'")
             << function.getName() << "' argument " << i << " has type " << type
             << ", but buffers are row-major, apart from a dimension of stride "
                "1: use dynamic strides";
  }
  return success();
}

FailureOr<CPUTarget> CPUTarget::compile(func::FuncOp function) {
  if (failed(checkInterface(function)))
    return failure();
  CPUTarget target;
  target.function = function;
  auto start = std::chrono::steady_clock::now();
  OwningOpRef<ModuleOp> module = isolateForCPU(function);
  if (!module)
    return failure();
  target.types =
      llvm::to_vector(module->lookupSymbol<func::FuncOp>(function.getName())
                          .getArgumentTypes());
  auto compiled = compileToCPU(*module);
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

SmallVector<PlacedBuffer>
CPUTarget::place(MutableArrayRef<HostBuffer> arguments,
                 MutableArrayRef<HostBuffer> results) {
  SmallVector<PlacedBuffer> placed;
  for (HostBuffer &buffer : llvm::concat<HostBuffer>(arguments, results))
    placed.emplace_back(buffer, types[placed.size()]);
  return placed;
}

LogicalResult CPUTarget::call(MutableArrayRef<PlacedBuffer> buffers) {
  std::vector<MemRefDescriptor> descriptors;
  descriptors.reserve(buffers.size());
  SmallVector<void *> pointers;
  for (auto [buffer, type] : llvm::zip_equal(buffers, types)) {
    void *data = buffer.getBytes().data();
    if (isa<ShapedType>(type)) {
      descriptors.emplace_back(data, buffer.getShape(), buffer.getStrides());
      data = descriptors.back().get();
    }
    pointers.push_back(data);
  }
  if (llvm::Error error = module->invoke(function.getName(), pointers))
    return function.emitError() << llvm::toString(std::move(error));
  return success();
}
