//===- ParallelFor.h - Threads for compiled code ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only functions that compiled CPU code calls besides the C library.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PARALLELFOR_H
#define FA_RUNTIME_PARALLELFOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One iteration: `context` is what the caller of fa_parallel_for passed,
/// `index` lies in [0, count), and `scratch` is memory of this thread alone,
/// aligned to 64 bytes, with no defined contents.
typedef void (*fa_parallel_body)(void *context, int64_t index, void *scratch);

/// Runs `body` for every index below `count`, in no defined order, on as many
/// threads as OpenMP gives (OMP_NUM_THREADS), each taking the next index when
/// it is free. Every thread gets `scratch_bytes` bytes of scratch, allocated
/// once for the call and freed before it returns. Aborts with a message on
/// stderr when that memory cannot be had.
void fa_parallel_for(fa_parallel_body body, void *context, int64_t count,
                     int64_t scratch_bytes);

#ifdef __cplusplus
}
#endif

#endif // FA_RUNTIME_PARALLELFOR_H
