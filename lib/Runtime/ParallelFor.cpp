//===- ParallelFor.cpp - Threads for compiled code ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ParallelFor.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

namespace {
/// Scratch of one thread.
class Scratch {
public:
  explicit Scratch(int64_t bytes) {
    // aligned_alloc wants a multiple of the alignment.
    size_t rounded =
        (static_cast<size_t>(bytes) + alignment - 1) / alignment * alignment;
    if (!rounded)
      return;
    memory = std::aligned_alloc(alignment, rounded);
    if (!memory) {
      std::fprintf(stderr,
                   "fa_parallel_for: no memory for %zu bytes of scratch\n",
                   rounded);
      std::abort();
    }
  }
  ~Scratch() { std::free(memory); }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  void *get() const { return memory; }

private:
  static constexpr size_t alignment = 64;
  void *memory = nullptr;
};
} // namespace

static std::atomic<fa_thread_runner> threadRunner = nullptr;

extern "C" void fa_set_thread_runner(fa_thread_runner runner) {
  // The runner may be GNU's OpenMP, which waits in a child for threads that
  // fork() did not copy. LLVM's begins anew there.
  static int handler =
      pthread_atfork(nullptr, nullptr, +[] { threadRunner = nullptr; });
  threadRunner = handler == 0 ? runner : nullptr;
}

namespace {
/// One call of fa_parallel_for.
struct Loop {
  fa_parallel_body body;
  void *context;
  int64_t count, scratchBytes;
  std::atomic<int64_t> next = 0;

  bool isDone() const { return next >= count; }
};
} // namespace

// Of LLVM's OpenMP; other ones do not have it.
extern "C" void kmp_set_blocktime(int milliseconds) __attribute__((weak));

/// Threads of OpenMP wait actively for what comes next, by default for 200 ms,
/// in which whatever the caller runs then has fewer processors. One bridges
/// calls that follow each other. It counts for what this thread begins, and a
/// fork forgets it.
static void limitActiveWait() {
  static const bool isChosen =
      std::getenv("KMP_BLOCKTIME") || std::getenv("OMP_WAIT_POLICY");
  if (!isChosen && kmp_set_blocktime)
    kmp_set_blocktime(1);
}

/// Blocks under a causal mask differ in work, so threads take one at a time.
static void runThread(void *context) {
  Loop &loop = *static_cast<Loop *>(context);
  if (loop.isDone())
    return;
  Scratch scratch(loop.scratchBytes);
  for (int64_t index = loop.next++; index < loop.count; index = loop.next++)
    loop.body(loop.context, index, scratch.get());
}

extern "C" void fa_parallel_for(fa_parallel_body body, void *context,
                                int64_t count, int64_t scratch_bytes) {
  Loop loop{body, context, count, scratch_bytes};
  if (count > 1) {
    if (fa_thread_runner runner = threadRunner) {
      runner(runThread, &loop, count);
    } else {
      limitActiveWait();
#pragma omp parallel
      runThread(&loop);
    }
  }
  // One iteration needs no threads, nor what a runner without any left.
  runThread(&loop);
}
