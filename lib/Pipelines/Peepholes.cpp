//===- Peepholes.cpp - Passes that only make kernels faster ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/Peepholes.h"

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
struct Peephole {
  PeepholeLevel level;
  std::unique_ptr<Pass> (*create)();
};
} // namespace

/// A pass belongs here if every pipeline is right without it.
static const Peephole peepholes[] = {
    {PeepholeLevel::BlockValues, fagpu::createFAGPUMergeBoundsPass},
    {PeepholeLevel::BlockValues, fagpu::createFAGPUNarrowConversionsPass},
    {PeepholeLevel::BlockValues, fagpu::createFAGPUFuseProductsPass},
    {PeepholeLevel::BlockValues, createFAGPUExpandTanhPass},
    {PeepholeLevel::BlockValues, createFAGPUHoistGathersPass},
    {PeepholeLevel::Indices, fagpu::createFAGPUJoinLimitsPass},
    {PeepholeLevel::Indices, fagpu::createFAGPUSplitIotaPass},
    {PeepholeLevel::Scalars, fagpu::createFAGPUShareReciprocalsPass},
};

void mlir::fa::addPeepholes(OpPassManager &manager, PeepholeLevel level) {
  for (const Peephole &peephole : peepholes)
    if (peephole.level == level)
      manager.addPass(peephole.create());
}
