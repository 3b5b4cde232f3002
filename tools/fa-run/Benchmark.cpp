//===- Benchmark.cpp - Time and memory of a call --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmark.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <malloc.h>
#include <vector>

using namespace mlir;
using namespace mlir::fa;

/// A line of /proc/self/status in bytes.
static std::optional<int64_t> readStatus(StringRef key) {
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/self/status");
  if (!file)
    return std::nullopt;
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  for (StringRef line : lines) {
    int64_t kilobytes;
    if (line.consume_front(key) && line.consume_front(":") &&
        !line.ltrim().consumeInteger(10, kilobytes))
      return kilobytes * 1024;
  }
  return std::nullopt;
}

/// Makes the peak start at what is resident now.
static bool resetPeak() {
  std::error_code error;
  llvm::raw_fd_ostream stream("/proc/self/clear_refs", error);
  if (error)
    return false;
  stream << "5";
  stream.flush();
  bool isReset = !stream.has_error();
  stream.clear_error();
  return isReset;
}

void fa::poisonAllocations() {
  // The fill is the complement, 0x7f: 3.4e38 as f32, 3.4e38 as bf16.
  mallopt(M_PERTURB, 0x80);
}

FailureOr<std::optional<int64_t>>
fa::measurePeakMemory(llvm::function_ref<LogicalResult()> body) {
  malloc_trim(0);
  bool isReset = resetPeak();
  std::optional<int64_t> before = readStatus("VmRSS");
  if (failed(body()))
    return failure();
  std::optional<int64_t> peak = readStatus("VmHWM");
  if (!isReset || !before || !peak)
    return std::optional<int64_t>();
  return std::optional<int64_t>(std::max<int64_t>(0, *peak - *before));
}

FailureOr<Timing> fa::measureTime(llvm::function_ref<LogicalResult()> body) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::vector<double> times;
  Clock::time_point start = Clock::now();
  auto isDone = [&] {
    double elapsed = since(start);
    return times.size() == 200 || (times.size() >= 5 && elapsed >= 0.5) ||
           (!times.empty() && elapsed >= 10);
  };
  while (!isDone()) {
    Clock::time_point begin = Clock::now();
    if (failed(body()))
      return failure();
    times.push_back(since(begin));
  }
  llvm::sort(times);
  return Timing{times[times.size() / 2], static_cast<unsigned>(times.size())};
}
