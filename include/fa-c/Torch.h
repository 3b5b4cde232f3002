//===- Torch.h - C API of the torch operators ---------------------*- C -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFATorch.so registers the operators `fa_mlir::attention`,
// `attention_into` and `attention_backward` for CPU and CUDA tensors with a
// torch that is loaded, by torch's stable C interface (torch 2.10 and later).
// It links neither torch nor the compiler: what to call for a specification is
// asked of its host once, and kept.
//
//===----------------------------------------------------------------------===//

#ifndef FA_C_TORCH_H
#define FA_C_TORCH_H

#include "fa-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FA_TORCH_MAX_OUTPUTS = 16,
  /// Of FaTorchEntry::outputs: no gradient of an input, but these.
  FA_TORCH_OUTPUT = -1,
  FA_TORCH_LSE = -2
};

/// What a call runs, for one specification, one set of types and one device.
typedef struct FaTorchEntry {
  /// One of the two: compiled for this CPU, or for a GPU.
  void *function;
  void *kernel;
  /// Of fa-c/Compiler.h and fa-c/Runtime.h.
  FaStatus (*call_function)(void *function, const FaArgument *arguments,
                            size_t argument_count);
  FaStatus (*launch_kernel)(void *kernel, const FaArgument *arguments,
                            size_t argument_count, void *stream);
  const char *(*get_function_error)(void);
  const char *(*get_kernel_error)(void);
  /// Bit n: number n is an integer.
  uint64_t integer_numbers;
  /// Where heads stand in a query of rank 4: 1 or 2. Packed, of rank 3, it
  /// is 1.
  int32_t heads_dim;
  int32_t output_count;
  /// For each output of the function: the input that it has type and shape of,
  /// or FA_TORCH_OUTPUT or FA_TORCH_LSE.
  int32_t outputs[FA_TORCH_MAX_OUTPUTS];
  /// Whether outputs are zeroed before, as some rows are not written.
  int32_t zeroes_outputs;
} FaTorchEntry;

/// Finds or compiles what `key` describes, and fills `entry`; else returns a
/// message, which lives until the next call in this thread. Called from any
/// thread, without Python's interpreter lock.
typedef const char *(*FaTorchCompile)(const char *key, FaTorchEntry *entry);

/// Registers the operators, at most once in a process. Returns NULL, or what is
/// wrong, which lives as long as the process.
__attribute__((visibility("default"))) const char *
faTorchRegister(FaTorchCompile compile);

/// A Python function (query, key, value) for the most frequent call, of a
/// specification without lengths, captures and numbers, whose heads stand in
/// dim `heads_dim`: the output, or a pair with the log-sum-exp. It returns None
/// for what is not plain and for what fails, which the operator does or
/// explains. `objects` is a tuple of what it uses of torch, `apply` that of a
/// torch.autograd.Function for calls that are differentiated. Call it with
/// Python's interpreter lock. Returns a new reference: to None where this torch
/// has no exchange functions; NULL where this process has no Python.
__attribute__((visibility("default"))) void *
faTorchMakePlainCall(void *objects, const char *specification,
                     int32_t heads_dim, void *apply);

/// Why the last call in this thread failed, where it was not for `compile`:
/// a status of fa-c/Runtime.h, FA_SUCCESS when asked again.
__attribute__((visibility("default"))) FaStatus faTorchTakeStatus(void);

/// For fa_set_thread_runner of libFA.so (fa/Runtime/ParallelFor.h), once the
/// operators are registered: code for CPUs runs on torch's threads, as many as
/// torch.set_num_threads says.
__attribute__((visibility("default"))) void
faTorchRunThreads(void (*body)(void *context), void *context, int64_t count);

/// Forgets what `compile` gave. No call may be running.
__attribute__((visibility("default"))) void faTorchClear(void);

#ifdef __cplusplus
}
#endif

#endif // FA_C_TORCH_H
