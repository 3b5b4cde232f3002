//===- Benchmark.h - Time and memory of a call ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_BENCHMARK_H
#define FA_TOOLS_FA_RUN_BENCHMARK_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mlir::fa {

/// From now on malloc fills what it hands out with large numbers.
void poisonAllocations();

/// Median seconds of `numRuns` calls.
struct Timing {
  double medianSeconds = 0;
  unsigned numRuns = 0;
};

/// Calls `body` until half a second and five calls have passed, at most 200
/// calls, and no further one once ten seconds have passed.
FailureOr<Timing> measureTime(llvm::function_ref<LogicalResult()> body);

/// Calls `body` and gives the bytes by which the peak resident memory of the
/// process (VmHWM) grew above what was resident before, freed heap given back
/// first: what the body touched beyond memory that was there. Nothing where the
/// system does not tell.
FailureOr<std::optional<int64_t>>
measurePeakMemory(llvm::function_ref<LogicalResult()> body);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_BENCHMARK_H
