//===- Runtime.h - C API of the CUDA launcher ---------------------*- C -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads kernels that a manifest describes (docs/Runtime.md) and launches them
// on memory and streams of the caller. libFARuntimeCUDA.so exports exactly
// these functions. libcuda is opened when a runtime is created and never
// linked.
//
// Every function may be called from any thread. A function that fails launches
// nothing, keeps nothing, returns a code other than FA_SUCCESS and leaves a
// message for faRuntimeGetErrorMessage of the same thread; later calls are not
// affected. No launch waits for the device. Loading a kernel and taking
// workspace call the driver, which may wait by itself for work in progress:
// faKernelPrepare does both ahead of the first launch. faRuntimeDestroy waits.
//
//===----------------------------------------------------------------------===//

#ifndef FA_C_RUNTIME_H
#define FA_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define FA_RUNTIME_EXPORTED __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum FaStatus {
  FA_SUCCESS = 0,
  /// libcuda cannot be opened, or it has no usable device.
  FA_NO_DRIVER = 1,
  /// libcuda is older than CUDA 12.0 or than the kernel's image.
  FA_DRIVER_TOO_OLD = 2,
  /// The kernel was compiled for another architecture than the device's.
  FA_WRONG_ARCHITECTURE = 3,
  /// A manifest that cannot be read or contradicts itself.
  FA_INVALID_MANIFEST = 4,
  /// An image (cubin or PTX) that cannot be read, assembled or loaded.
  FA_INVALID_IMAGE = 5,
  /// An argument of a wrong type, shape, stride, alignment or device.
  FA_INVALID_ARGUMENT = 6,
  FA_OUT_OF_MEMORY = 7,
  /// A grid, block, cluster or shared memory over the device's limit.
  FA_LAUNCH_LIMIT = 8,
  /// Any other error that the driver reports.
  FA_DRIVER_ERROR = 9,
  /// Of faKernelDescribeObjects alone: there is no message. The caller
  /// describes the arguments, and faKernelLaunch says what is wrong with them.
  FA_NOT_TAKEN = 10,
  // Of fa-c/Compiler.h:
  /// Text or bytecode that cannot be read, or is no legal module.
  FA_INVALID_MODULE = 11,
  /// A pipeline with an unknown pass or option.
  FA_INVALID_PIPELINE = 12,
  /// A pass or back end refused the module.
  FA_COMPILATION_FAILED = 13
} FaStatus;

typedef enum FaDataType {
  FA_TYPE_F16 = 0,
  FA_TYPE_BF16 = 1,
  FA_TYPE_F32 = 2,
  FA_TYPE_F64 = 3,
  /// One byte, signed or unsigned; FA_TYPE_I1 is taken for it too.
  FA_TYPE_I8 = 4,
  FA_TYPE_I32 = 5,
  FA_TYPE_I64 = 6,
  FA_TYPE_F8E4M3FN = 7,
  FA_TYPE_F8E5M2 = 8,
  /// Boolean: bytes of 0 or 1, for tensors.
  FA_TYPE_I1 = 9
} FaDataType;

enum {
  FA_MAX_RANK = 6,
  /// The rank of an argument that is a number and not a tensor.
  FA_SCALAR = -1,
  /// The device of a tensor whose pointer the driver is to be asked about.
  FA_DEVICE_OF_POINTER = -1,
  /// Of FaArgument::flags: memory that must not be written.
  FA_READ_ONLY = 1,
  /// Device memory that a runtime takes on each device, at most, in bytes. It
  /// holds tile counters; see faRuntimeGetWorkspaceSize for what is in use.
  FA_WORKSPACE_LIMIT = 786432
};

/// One argument of a launch: a tensor in device memory, or a number.
typedef struct FaArgument {
  union {
    /// The first element of a tensor.
    void *data;
    /// A number of type FA_TYPE_I64.
    int64_t integer;
    /// A number of type FA_TYPE_F64. Converted to what the kernel takes.
    double real;
  } value;
  /// FaDataType.
  int32_t type;
  /// From 0 to FA_MAX_RANK, or FA_SCALAR.
  int32_t rank;
  /// CUDA ordinal of the device that holds the tensor, or
  /// FA_DEVICE_OF_POINTER, which costs a query per tensor.
  int32_t device;
  /// FA_READ_ONLY or 0. A launch does not look at it.
  int32_t flags;
  int64_t shape[FA_MAX_RANK];
  /// In elements.
  int64_t strides[FA_MAX_RANK];
} FaArgument;

typedef struct FaRuntimeImpl *FaRuntime;
typedef struct FaKernelImpl *FaKernel;
/// A CUstream (cudaStream_t), NULL for the legacy default stream.
typedef void *FaStream;

/// The message of the last function that failed in this thread; "" if none
/// did. Valid until the next call in this thread.
FA_RUNTIME_EXPORTED const char *faRuntimeGetErrorMessage(void);

/// Opens the driver library at `driver_path`, or libcuda.so.1 where that is
/// NULL, and initialises it. Touches no device.
FA_RUNTIME_EXPORTED FaStatus faRuntimeCreate(const char *driver_path,
                                             FaRuntime *runtime);

/// Unloads all kernels and frees the workspace. The caller makes sure that no
/// launch of this runtime is running and that no graph holds one. Kernels of
/// the runtime are to be destroyed before.
FA_RUNTIME_EXPORTED void faRuntimeDestroy(FaRuntime runtime);

/// Bytes of device memory that the runtime holds on `device`.
FA_RUNTIME_EXPORTED FaStatus faRuntimeGetWorkspaceSize(FaRuntime runtime,
                                                       int device,
                                                       size_t *bytes);

/// Reads a manifest and the images that it names, from files beside it.
/// Touches no device.
FA_RUNTIME_EXPORTED FaStatus faKernelLoad(FaRuntime runtime,
                                          const char *manifest_path,
                                          FaKernel *kernel);

/// The same from memory: `manifest` is the text of one, `cubin` and `ptx` are
/// images of the given sizes in bytes, or NULL. Where the manifest lists
/// several cubins `cubin` has one after the other. No files are read.
FA_RUNTIME_EXPORTED FaStatus faKernelLoadFromMemory(
    FaRuntime runtime, const char *manifest, size_t manifest_size,
    const void *cubin, size_t cubin_size, const void *ptx, size_t ptx_size,
    FaKernel *kernel);

/// Frees the host side of a kernel. Its module stays loaded with the runtime,
/// so launches that are running and graphs that hold it are not affected.
FA_RUNTIME_EXPORTED void faKernelDestroy(FaKernel kernel);

/// Loads the kernel on `device` (its ordinal) and takes the workspace there,
/// which the first launch would do otherwise.
FA_RUNTIME_EXPORTED FaStatus faKernelPrepare(FaKernel kernel, int device);

/// Checks the arguments, which are those of the manifest in its order, and
/// enqueues one launch on `stream`, on the device that holds the tensors.
/// Nothing is launched, successfully, where the grid is empty. A tensor without
/// elements may have any address, also null.
///
/// Under stream capture the launch becomes a node of the graph, which then owns
/// a tile counter until it and all graphs instantiated from it are destroyed.
/// Two instances of one graph must not run at the same time: they would share
/// outputs and counters.
FA_RUNTIME_EXPORTED FaStatus faKernelLaunch(FaKernel kernel,
                                            const FaArgument *arguments,
                                            size_t argument_count,
                                            FaStream stream);

/// The short way from Python to the arguments of faKernelLaunch: objects of a
/// framework are described by its own functions instead of by Python code.
/// `exchange` is the DLPackExchangeAPI of the tensors' type (the capsule
/// __dlpack_c_exchange_api__, DLPack 1.2 and later), `objects` are the
/// PyObject* of all arguments in the manifest's order. Those of numbers are not
/// read: `numbers` has eight bytes for each, in the same order, an int64_t or,
/// where the kernel's is of a float type, a double. Writes `object_count`
/// arguments, and the framework's current stream of the tensors' device.
///
/// The caller holds Python's interpreter lock, and launches without it.
/// FA_NOT_TAKEN, perhaps with a Python exception set, is for objects that are
/// no tensors of that framework in device memory.
FA_RUNTIME_EXPORTED FaStatus faKernelDescribeObjects(
    FaKernel kernel, const void *exchange, void *const *objects,
    size_t object_count, const void *numbers, FaArgument *arguments,
    FaStream *current_stream);

#ifdef __cplusplus
}
#endif

#endif // FA_C_RUNTIME_H
