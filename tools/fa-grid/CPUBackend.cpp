//===- CPUBackend.cpp - Problems as machine code --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend.h"
#include "fa/JIT/CPUCompiler.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;

namespace {
class CPUBackend : public Backend {
public:
  LogicalResult compile(func::FuncOp function) override;
  LogicalResult run(const Problem &problem,
                    MutableArrayRef<char> data) override;

private:
  func::FuncOp function;
  std::unique_ptr<CompiledModule> compiled;
};
} // namespace

LogicalResult CPUBackend::compile(func::FuncOp function) {
  this->function = function;
  auto code = compileToCPU(function->getParentOfType<ModuleOp>());
  if (failed(code))
    return failure();
  compiled = std::move(*code);
  return success();
}

/// The bytes of a number as compiled code takes it.
static int64_t getScalarBytes(const Operand &operand) {
  int64_t bytes = operand.number.integer;
  if (operand.elementType.isF32()) {
    float value = operand.number.real;
    bytes = 0;
    std::memcpy(&bytes, &value, sizeof(value));
  }
  return bytes;
}

LogicalResult CPUBackend::run(const Problem &problem,
                              MutableArrayRef<char> data) {
  SmallVector<Operand> operands = problem.getAll();
  // Descriptors and scalars must not move once their address is taken.
  std::vector<MemRefDescriptor> descriptors;
  std::vector<int64_t> scalars;
  descriptors.reserve(operands.size());
  scalars.reserve(operands.size());
  SmallVector<void *> addresses;
  for (const Operand &operand : operands) {
    const View &view = operand.view;
    if (operand.isShaped) {
      descriptors.emplace_back(data.data() + view.offset, view.shape,
                               view.strides);
      addresses.push_back(descriptors.back().get());
    } else {
      scalars.push_back(getScalarBytes(operand));
      addresses.push_back(&scalars.back());
    }
  }
  if (llvm::Error error = compiled->invoke(function.getName(), addresses))
    return function.emitError(llvm::toString(std::move(error)));
  return success();
}

std::unique_ptr<Backend> fa::createCPUBackend() {
  return std::make_unique<CPUBackend>();
}
