//===- DropoutSemantics.cpp - Random factors in the executor --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.dropout by its definition, apart from what fa-expand-dropout makes of it.
//
//===----------------------------------------------------------------------===//

#include "FAParts.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/Philox.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static LogicalResult runDropout(ArrayRef<const Slot *> operands,
                                ArrayRef<Slot *> results, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane) {
    auto getInteger = [&](unsigned operand) {
      return static_cast<uint64_t>(operands[operand][lane].integer);
    };
    double p = operands[0][lane].real;
    uint64_t seed = getInteger(1), offset = getInteger(2), key = getInteger(6);
    uint64_t batch = getInteger(3);
    uint32_t number = philox::getNumber(
        static_cast<uint32_t>(getInteger(5)), static_cast<uint32_t>(key),
        static_cast<uint32_t>((batch << 16) + getInteger(4)),
        static_cast<uint32_t>(offset + (batch >> 16)),
        {static_cast<uint32_t>(seed),
         static_cast<uint32_t>((seed >> 32) + (offset >> 32))});
    double uniform = number / 65536.0;
    results[0][lane].real = uniform < p ? 0.0 : 1.0 / (1.0 - p);
  }
  return success();
}

void executor::addDropoutSemantics(Semantics &semantics) {
  semantics.addElementwise<DropoutOp>(
      [](DropoutOp) -> FailureOr<Kernel> { return Kernel(runDropout); });
}
