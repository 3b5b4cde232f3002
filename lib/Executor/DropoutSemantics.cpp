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
#include <array>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// Philox 4x32-10 (Salmon et al. 2011).
static std::array<uint32_t, 4> runPhilox(std::array<uint32_t, 4> counter,
                                         uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * counter[0];
    uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key0,
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key1,
               static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

static LogicalResult runDropout(ArrayRef<const Slot *> operands,
                                ArrayRef<Slot *> results, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane) {
    auto getInteger = [&](unsigned operand) {
      return static_cast<uint64_t>(operands[operand][lane].integer);
    };
    double p = operands[0][lane].real;
    uint64_t seed = getInteger(1), offset = getInteger(2), key = getInteger(6);
    std::array<uint32_t, 4> words = runPhilox(
        {static_cast<uint32_t>(key / 4), static_cast<uint32_t>(getInteger(5)),
         static_cast<uint32_t>(getInteger(3) * 65536 + getInteger(4)),
         static_cast<uint32_t>(offset)},
        static_cast<uint32_t>(seed),
        static_cast<uint32_t>((seed >> 32) + (offset >> 32)));
    double uniform = (words[key % 4] >> 8) / 16777216.0;
    results[0][lane].real = uniform < p ? 0.0 : 1.0 / (1.0 - p);
  }
  return success();
}

void executor::addDropoutSemantics(Semantics &semantics) {
  semantics.addElementwise<DropoutOp>(
      [](DropoutOp) -> FailureOr<Kernel> { return Kernel(runDropout); });
}
