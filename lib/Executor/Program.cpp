//===- Program.cpp - Compiled functions, blocks and lane bodies -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/Program.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

ExecutionContext::~ExecutionContext() = default;

void executor::transfer(Frame &frame, ArrayRef<Use> from,
                        ArrayRef<unsigned> to) {
  if (from.size() == 1) {
    frame[to[0]] = from[0].take(frame);
    return;
  }
  SmallVector<RuntimeValue> values;
  for (Use use : from)
    values.push_back(use.take(frame));
  for (auto [target, value] : llvm::zip_equal(to, values))
    frame[target] = std::move(value);
}

FailureOr<SmallVector<RuntimeValue>>
FunctionProgram::run(SmallVector<RuntimeValue> arguments,
                     Execution &execution) const {
  Frame frame(numRegisters, execution);
  for (auto [index, value] : llvm::zip_equal(body.arguments, arguments))
    frame[index] = std::move(value);
  if (failed(body.run(frame)))
    return failure();
  SmallVector<RuntimeValue> results;
  for (Use use : body.results)
    results.push_back(frame[use.index]);
  return results;
}

LaneState LaneProgram::makeState(int64_t capacity, Frame &frame) const {
  LaneState state;
  state.capacity = capacity;
  state.slots.resize(capacity * numLaneRegisters);
  state.objects.resize(numObjects);
  state.execution = frame.execution;
  for (auto [index, value] : constants)
    std::fill_n(state.lanes(index), capacity, value);
  for (const Import &import : imports) {
    if (import.place.isLane)
      std::fill_n(state.lanes(import.place.index), capacity,
                  frame.slot(import.frameRegister));
    else
      state.objects[import.place.index] = frame[import.frameRegister];
  }
  return state;
}

void LaneProgram::setUniform(LaneState &state, unsigned argument,
                             Slot value) const {
  std::fill_n(getArgument(state, argument), state.capacity, value);
}
