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

struct BenchmarkResult {
  /// Median seconds of `numRuns` calls.
  double medianSeconds = 0;
  unsigned numRuns = 0;
  /// Bytes by which the process's peak resident memory grew above what it held
  /// before the first call (VmHWM, freed heap given back first): what the code
  /// and its runtime touched beyond inputs and outputs. Where the system does
  /// not tell, nothing.
  std::optional<int64_t> peakBytes;
};

/// Calls `body` once for the memory, then until half a second and five calls
/// have passed (at most 200 calls).
FailureOr<BenchmarkResult> benchmark(llvm::function_ref<LogicalResult()> body);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_BENCHMARK_H
