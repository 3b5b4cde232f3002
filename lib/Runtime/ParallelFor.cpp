//===- ParallelFor.cpp - Threads for compiled code ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ParallelFor.h"

#include <cstdio>
#include <cstdlib>

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

extern "C" void fa_parallel_for(fa_parallel_body body, void *context,
                                int64_t count, int64_t scratch_bytes) {
  if (count <= 0)
    return;
#pragma omp parallel if (count > 1)
  {
    Scratch scratch(scratch_bytes);
    // Blocks under a causal mask differ in work, so threads take one at a time.
#pragma omp for schedule(dynamic, 1)
    for (int64_t index = 0; index < count; ++index)
      body(context, index, scratch.get());
  }
}
