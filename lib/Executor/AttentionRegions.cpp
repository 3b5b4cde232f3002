//===- AttentionRegions.cpp - Score and mask regions over keys ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionRegions.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

FailureOr<CompiledRegion> CompiledRegion::compile(const PairRegion &pairs,
                                                  ProgramBuilder &builder) {
  CompiledRegion compiled;
  Region &region = *pairs.region;
  if (region.empty())
    return compiled;
  compiled.program = std::make_unique<LaneProgram>();
  compiled.captures = builder.getRegisters(pairs.captures);
  compiled.firstIndex = pairs.numElements;
  compiled.numIndices = pairs.numIndices;
  compiled.usesBatch = !region.getArgument(compiled.firstIndex).use_empty();
  compiled.usesHead = !region.getArgument(compiled.firstIndex + 1).use_empty();
  if (failed(builder.compileLanes(region.front(), *compiled.program,
                                  /*zeroOutOfBounds=*/true)))
    return failure();
  return compiled;
}

LaneState CompiledRegion::bind(Frame &frame) const {
  if (isEmpty())
    return LaneState();
  LaneState state = program->makeState(capacity, frame);
  for (auto [i, index] : llvm::enumerate(captures)) {
    unsigned argument = firstIndex + numIndices + i;
    LaneProgram::Place place = program->arguments[argument];
    if (place.isLane)
      program->setUniform(state, argument, frame.slot(index));
    else
      state.objects[place.index] = frame[index];
  }
  return state;
}

void CompiledRegion::setRow(LaneState &state,
                            const RowPosition &position) const {
  auto set = [&](unsigned argument, int64_t value) {
    program->setUniform(state, firstIndex + argument, Slot::ofInteger(value));
  };
  set(0, position.batch);
  set(1, position.head);
  set(2, position.query);
  for (auto [number, place] : program->contextValues) {
    bool isQuery = number == static_cast<unsigned>(RegionContext::QueryLength);
    std::fill_n(
        state.lanes(place), state.capacity,
        Slot::ofInteger(isQuery ? position.queryLength : position.keyLength));
  }
}

Slot *CompiledRegion::getElements(LaneState &state, unsigned input) const {
  return program->getArgument(state, input);
}

Slot *CompiledRegion::getKeys(LaneState &state) const {
  return program->getArgument(state, firstIndex + 3);
}

void CompiledRegion::setGradient(LaneState &state, unsigned capture,
                                 ArrayRefPtr gradient) const {
  for (auto [number, object] : program->contextObjects)
    if (number == capture)
      state.objects[object] = gradient;
}
