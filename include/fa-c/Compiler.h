//===- Compiler.h - C API of the compiler -------------------------*- C -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, bytecode or a described problem in; MLIR, a function that can be
// called, an object file, or a kernel for fa-c/Runtime.h out. libFA.so exports
// these functions and those of fa-c/Runtime.h. It holds an LLVM of its own,
// which meets no other in the process.
//
// A function that fails returns a code other than FA_SUCCESS, gives nothing
// out, and leaves a message for faGetErrorMessage of the same thread. It
// changes nothing else, writes nothing to stderr, and does not end the process.
//
// Any thread may call anything. Calls on one context, or on modules of it, wait
// for each other; contexts know nothing of each other. Functions and bytes
// depend on no context.
//
//===----------------------------------------------------------------------===//

#ifndef FA_C_COMPILER_H
#define FA_C_COMPILER_H

#include "fa-c/Runtime.h"

#define FA_COMPILER_EXPORTED __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaContextImpl *FaContext;
typedef struct FaModuleImpl *FaModule;
/// A function compiled for this CPU.
typedef struct FaFunctionImpl *FaFunction;
/// Bytes that the caller owns.
typedef struct FaBytesImpl *FaBytes;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// The message of the last function of this header that failed in this thread;
/// "" if none did. Valid until the next one that fails there.
FA_COMPILER_EXPORTED const char *faGetErrorMessage(void);

/// "0.1.0, LLVM 22.1.8".
FA_COMPILER_EXPORTED const char *faGetVersion(void);

/// Hexadecimal digits that differ for libraries that differ: for keys of
/// caches.
FA_COMPILER_EXPORTED const char *faGetBuildId(void);

/// The processor and features that functions are compiled for.
FA_COMPILER_EXPORTED const char *faGetHostCPU(void);

/// The path of ptxas, "" where there is none (FA_PTXAS, PATH, CUDA_HOME,
/// CUDA_PATH, /usr/local/cuda). Valid until the next call in this thread.
FA_COMPILER_EXPORTED const char *faGetAssembler(void);

FA_COMPILER_EXPORTED const char *faBytesGetData(FaBytes bytes);
FA_COMPILER_EXPORTED size_t faBytesGetSize(FaBytes bytes);
FA_COMPILER_EXPORTED void faBytesDestroy(FaBytes bytes);

//===----------------------------------------------------------------------===//
// Contexts, and what the compiler says
//===----------------------------------------------------------------------===//

enum {
  /// Of faContextCreate: operations of unknown dialects, in generic form, are
  /// no error.
  FA_ALLOW_UNREGISTERED = 1
};

typedef enum FaSeverity {
  FA_SEVERITY_ERROR = 0,
  FA_SEVERITY_WARNING = 1,
  /// More about the message before it.
  FA_SEVERITY_NOTE = 2,
  FA_SEVERITY_REMARK = 3
} FaSeverity;

/// What a remark says of a transformation.
typedef enum FaOutcome {
  FA_OUTCOME_NONE = 0,
  FA_OUTCOME_PASSED = 1,
  FA_OUTCOME_MISSED = 2,
  FA_OUTCOME_FAILED = 3,
  FA_OUTCOME_ANALYSIS = 4
} FaOutcome;

typedef struct FaDiagnostic {
  /// FaSeverity.
  int32_t severity;
  /// FaOutcome.
  int32_t outcome;
  /// From 1 on, 0 where unknown.
  int32_t line;
  int32_t column;
  /// "" where unknown.
  const char *file;
  /// Of a remark: the pass that made it, and what it is called. Else "".
  const char *pass;
  const char *name;
  const char *message;
} FaDiagnostic;

FA_COMPILER_EXPORTED FaStatus faContextCreate(uint32_t flags,
                                              FaContext *context);

/// Modules of the context can only be destroyed afterwards.
FA_COMPILER_EXPORTED void faContextDestroy(FaContext context);

/// What the last call said that created, changed or compiled a module of the
/// context, in order: errors, and remarks of passes.
FA_COMPILER_EXPORTED size_t faContextGetDiagnosticCount(FaContext context);

/// Its strings are valid until the next such call.
FA_COMPILER_EXPORTED FaStatus faContextGetDiagnostic(FaContext context,
                                                     size_t index,
                                                     FaDiagnostic *diagnostic);

/// How many remarks of the last call a pass made with this FaOutcome.
FA_COMPILER_EXPORTED FaStatus faContextCountRemarks(FaContext context,
                                                    const char *pass,
                                                    int32_t outcome,
                                                    size_t *count);

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Text or bytecode of `size` bytes. Diagnostics call it `name`, or "module"
/// where that is NULL.
FA_COMPILER_EXPORTED FaStatus faModuleCreateFromText(FaContext context,
                                                     const char *text,
                                                     size_t size,
                                                     const char *name,
                                                     FaModule *module);

/// A tensor of an attention.
typedef struct FaTensorType {
  /// FaDataType.
  int32_t type;
  /// FA_SCALAR: a number; of type FA_TYPE_I64 it is an index.
  int32_t rank;
  /// -1 for a size that a call decides.
  int64_t shape[FA_MAX_RANK];
  /// Order of dims, as in "bhsd" for (batch, heads, sequence, head dim). NULL
  /// for "bshd"; not of captures.
  const char *dims;
} FaTensorType;

/// What a score function or a mask reads: an argument of the function.
typedef struct FaCapture {
  const char *name;
  FaTensorType type;
} FaCapture;

/// One `fa.attention` in a function. Arguments are query, key, value, then
/// scale, query_lengths and key_lengths where there are some, then the
/// captures; results are output and lse.
typedef struct FaProblem {
  /// sizeof(FaProblem).
  size_t size;
  /// Of the function; NULL for "attention".
  const char *name;
  FaTensorType query;
  FaTensorType key;
  FaTensorType value;
  /// FaDataType: that of the query, or FA_TYPE_F32.
  int32_t output_type;
  /// As FaTensorType::dims.
  const char *output_dims;
  /// Whether there is a second result, the log-sum-exp.
  int32_t returns_lse;
  /// Whether the scale is an argument (f32); 1 / sqrt(head dim) else.
  int32_t has_scale;
  int32_t has_query_lengths;
  int32_t has_key_lengths;
  /// The clauses behind `score` and `mask` of `fa.attention`, as in "causal
  /// window(%left, %right)" or "(%s, %b, %h, %i, %j) { ... }"; NULL for none.
  const char *score;
  const char *mask;
  /// What they name.
  const FaCapture *captures;
  size_t capture_count;
} FaProblem;

FA_COMPILER_EXPORTED FaStatus faModuleCreateFromProblem(
    FaContext context, const FaProblem *problem, FaModule *module);

FA_COMPILER_EXPORTED void faModuleDestroy(FaModule module);

/// Runs passes: "canonicalize,fa-to-cpu", "fa-to-schedule{chip=sm_90a}" or the
/// same in "builtin.module(...)". A failing pipeline leaves the module as it
/// was.
FA_COMPILER_EXPORTED FaStatus faModuleRunPipeline(FaModule module,
                                                  const char *pipeline);

/// Runs fa-raise-attention with options of its own, as in
/// "masks=assume-visible", or NULL. `raised` is the number of attentions made,
/// `refused` that of near misses, each of which is a remark.
FA_COMPILER_EXPORTED FaStatus faModuleRaiseAttention(FaModule module,
                                                     const char *options,
                                                     size_t *raised,
                                                     size_t *refused);

typedef enum FaForm {
  FA_FORM_TEXT = 0,
  /// Operations in generic form, which other MLIRs read.
  FA_FORM_GENERIC = 1,
  FA_FORM_BYTECODE = 2
} FaForm;

FA_COMPILER_EXPORTED FaStatus faModulePrint(FaModule module, int32_t form,
                                            FaBytes *printed);

/// Counts operations by name, as in "fa.attention".
FA_COMPILER_EXPORTED FaStatus faModuleCountOperations(FaModule module,
                                                      const char *name,
                                                      size_t *count);

//===----------------------------------------------------------------------===//
// Code for CPUs
//===----------------------------------------------------------------------===//

typedef struct FaCPUOptions {
  /// sizeof(FaCPUOptions).
  size_t size;
  /// 0 to 3.
  int32_t optimization_level;
  /// Of faModuleCompileObject: processor and features in LLVM's spelling, as in
  /// "znver3" and "+avx2,+fma". NULL both: this machine's.
  const char *cpu;
  const char *features;
} FaCPUOptions;

/// An object file (position-independent ELF) with `_mlir_ciface_NAME` for each
/// public function. It calls `fa_parallel_for`, which libFA.so and
/// libFARuntime.a have; fa/Runtime/ParallelFor.h says on which threads it runs.
/// `options` may be NULL.
FA_COMPILER_EXPORTED FaStatus faModuleCompileObject(FaModule module,
                                                    const FaCPUOptions *options,
                                                    FaBytes *object);

/// Compiles the public function `entry`, or the only one where that is NULL, to
/// code for this machine in memory. `options` may be NULL. The module stays as
/// it is and may be destroyed before the function.
FA_COMPILER_EXPORTED FaStatus
faModuleCompileFunction(FaModule module, const char *entry,
                        const FaCPUOptions *options, FaFunction *function);

FA_COMPILER_EXPORTED void faFunctionDestroy(FaFunction function);

/// JSON: name and arguments, those of a manifest (docs/Runtime.md). Results are
/// the last arguments, with `output`. Lives as long as the function.
FA_COMPILER_EXPORTED const char *faFunctionGetInterface(FaFunction function);

/// Calls the function on memory of the host. Checks element types, ranks,
/// shapes, strides, alignment, sizes that must be equal, lengths, and that no
/// output is read-only: FA_INVALID_ARGUMENT, and no output is touched. Outputs
/// must not overlap each other or what is read. FaArgument::device is not read.
FA_COMPILER_EXPORTED FaStatus faFunctionCall(FaFunction function,
                                             const FaArgument *arguments,
                                             size_t argument_count);

/// The function as bytes, and back in any process on a machine of the same
/// processor: FA_INVALID_IMAGE for damaged bytes, FA_WRONG_ARCHITECTURE for
/// those of another processor.
FA_COMPILER_EXPORTED FaStatus faFunctionSave(FaFunction function,
                                             FaBytes *bytes);
FA_COMPILER_EXPORTED FaStatus faFunctionLoad(const void *data, size_t size,
                                             FaFunction *function);

//===----------------------------------------------------------------------===//
// Kernels for GPUs
//===----------------------------------------------------------------------===//

typedef enum FaImages {
  /// PTX, and a cubin where there is ptxas.
  FA_IMAGES_AUTO = 0,
  FA_IMAGES_PTX = 1,
  FA_IMAGES_BOTH = 2
} FaImages;

typedef struct FaKernelOptions {
  /// sizeof(FaKernelOptions).
  size_t size;
  /// As in "sm_90a". NULL: the schedule's own, and sm_80 for a problem.
  const char *chip;
  /// FaImages.
  int32_t images;
  /// Leave passes out that only make kernels faster.
  int32_t no_peepholes;
  /// A spill or a product that ptxas serialises is an error.
  int32_t fail_on_spill;
} FaKernelOptions;

/// Compiles the host function or problem `entry`, or the only one where that is
/// NULL, as fa-compile does. `manifest`, `ptx` and `cubin` are what
/// faKernelLoadFromMemory takes; `*cubin` is NULL where none is made. `options`
/// may be NULL.
FA_COMPILER_EXPORTED FaStatus faModuleCompileKernel(
    FaModule module, const char *entry, const FaKernelOptions *options,
    FaBytes *manifest, FaBytes *ptx, FaBytes *cubin);

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

/// Runs fa-opt, fa-run or fa-compile, named by `argv[0]`, and returns its exit
/// status. It is for processes that do nothing else: unlike all functions
/// above, it writes to stdout and stderr, and may end the process. At most
/// once.
FA_COMPILER_EXPORTED int faRunTool(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // FA_C_COMPILER_H
