//===- ParallelFor.h - Threads for compiled code ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only function that compiled CPU code calls besides the C library, and who
// has its threads.
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
/// threads as OpenMP gives (OMP_NUM_THREADS), or a runner that was set, each
/// taking the next index when it is free. Idle threads of LLVM's OpenMP wait
/// actively for 1 ms (KMP_BLOCKTIME, OMP_WAIT_POLICY). Every thread gets
/// `scratch_bytes` bytes of scratch, allocated once for the call and freed
/// before it returns. Aborts with a message on stderr when that memory cannot
/// be had.
void fa_parallel_for(fa_parallel_body body, void *context, int64_t count,
                     int64_t scratch_bytes);

/// What each of several threads runs once. `context` is that of the runner.
typedef void (*fa_thread_body)(void *context);

/// Calls `body(context)` once in each of at most `count` threads, and returns
/// when all of these calls have.
typedef void (*fa_thread_runner)(fa_thread_body body, void *context,
                                 int64_t count);

/// Has `runner` give fa_parallel_for its threads from now on; NULL: OpenMP
/// again, which a child by fork() has from the beginning. For a process whose
/// framework has threads of its own: idle ones of either wait actively, and
/// take processors that the other could use.
void fa_set_thread_runner(fa_thread_runner runner);

#ifdef __cplusplus
}
#endif

#endif // FA_RUNTIME_PARALLELFOR_H
