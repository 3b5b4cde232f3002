//===- InterpreterBackend.cpp - Problems as schedules on the CPU ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend.h"
#include "fa/Driver/Derivation.h"
#include "fa/Driver/InterpreterTarget.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
class InterpreterBackend : public Backend {
public:
  InterpreterBackend(StringRef chip, bool peepholes)
      : chip(chip), peepholes(peepholes) {}
  LogicalResult compile(func::FuncOp function) override;
  LogicalResult run(const Problem &problem,
                    MutableArrayRef<char> data) override;

private:
  std::string chip;
  bool peepholes;
  DerivedSchedule schedule;
  /// Of the next run, so that runs differ in how roles interleave.
  uint64_t seed = 0;
};
} // namespace

LogicalResult InterpreterBackend::compile(func::FuncOp function) {
  FailureOr<DerivedSchedule> derived = derive(function, chip, peepholes);
  if (failed(derived))
    return failure();
  schedule = std::move(*derived);
  return success();
}

LogicalResult InterpreterBackend::run(const Problem &problem,
                                      MutableArrayRef<char> data) {
  SmallVector<Operand> operands = problem.getAll();
  SmallVector<RuntimeValue> values, results;
  for (const Operand &operand : operands)
    values.push_back(operand.isShaped
                         ? RuntimeValue(loadArray(data.data(), operand))
                         : RuntimeValue(operand.number));
  SmallVector<RuntimeValue> passed(values);
  interpreter::InterpreterOptions options;
  options.seed = seed++;
  if (failed(interpret(schedule.host, options, /*grid=*/std::nullopt, passed,
                       results)))
    return failure();
  for (auto [operand, value] : llvm::zip_equal(operands, values))
    if (operand.isShaped)
      storeChanges(data.data(), operand, value.array());
  return success();
}

std::unique_ptr<Backend> fa::createInterpreterBackend(StringRef chip,
                                                      bool peepholes) {
  return std::make_unique<InterpreterBackend>(chip, peepholes);
}
