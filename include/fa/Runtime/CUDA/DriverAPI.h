//===- DriverAPI.h - The part of the CUDA driver's ABI in use -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, constants and signatures of the CUDA driver API as its reference
// manual documents them, so that building needs no CUDA toolkit. Functions keep
// the manual's names; a versioned name is the exported symbol.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_DRIVERAPI_H
#define FA_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace mlir::fa::runtime::cuda {

using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphNode = struct CUgraphNode_st *;
using MemoryPool = struct CUmemPoolHandle_st *;
using UserObject = struct CUuserObject_st *;
using DeviceHandle = int;
using DevicePointer = uint64_t;
using HostFunction = void (*)(void *);

/// Results that are told apart; any other is reported by its name.
enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  Deinitialized = 4,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGPU = 209,
  InvalidPTX = 218,
  JITCompilerNotFound = 221,
  UnsupportedPTXVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  LaunchOutOfResources = 701,
  NotSupported = 801,
  StreamCaptureImplicit = 906,
  InvalidClusterSize = 912,
  UnknownError = 999
};

enum DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2,
  MaxBlockDimY = 3,
  MaxBlockDimZ = 4,
  MaxGridDimX = 5,
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97
};

enum FunctionAttribute : int {
  FunctionMaxThreadsPerBlock = 0,
  FunctionSharedSizeBytes = 1,
  FunctionMaxDynamicSharedSizeBytes = 8,
  FunctionNonPortableClusterSizeAllowed = 14
};

enum MemoryPoolAttribute : int { MemoryPoolReleaseThreshold = 4 };

enum : int { MemoryAllocationPinned = 1, MemoryLocationDevice = 1 };

/// CUmemPoolProps.
struct MemoryPoolProperties {
  int allocationType;
  int handleTypes;
  int locationType;
  int location;
  void *securityAttributes;
  /// 0: as much as there is.
  size_t maxBytes;
  char reserved[56];
};

enum PointerAttribute : int { PointerDeviceOrdinal = 9 };

enum JITOption : int { JITErrorLogBuffer = 5, JITErrorLogBufferSizeBytes = 6 };

enum CaptureStatus : int {
  CaptureStatusNone = 0,
  CaptureStatusActive = 1,
  CaptureStatusInvalidated = 2
};

enum CaptureMode : int {
  CaptureModeGlobal = 0,
  CaptureModeThreadLocal = 1,
  CaptureModeRelaxed = 2
};

enum : unsigned {
  StreamDefault = 0,
  StreamNonBlocking = 1,
  EventDisableTiming = 2,
  EventWaitDefault = 0,
  EventWaitExternal = 1,
  UserObjectNoDestructorSync = 1,
  GraphUserObjectMove = 1
};

enum TensorMapDataType : int {
  TensorMapUInt8 = 0,
  TensorMapUInt16 = 1,
  TensorMapUInt32 = 2,
  TensorMapInt32 = 3,
  TensorMapUInt64 = 4,
  TensorMapInt64 = 5,
  TensorMapFloat16 = 6,
  TensorMapFloat32 = 7,
  TensorMapFloat64 = 8,
  TensorMapBFloat16 = 9
};

enum TensorMapInterleave : int { TensorMapInterleaveNone = 0 };

enum TensorMapSwizzle : int {
  TensorMapSwizzleNone = 0,
  TensorMapSwizzle32B = 1,
  TensorMapSwizzle64B = 2,
  TensorMapSwizzle128B = 3
};

enum TensorMapL2Promotion : int {
  TensorMapL2PromotionNone = 0,
  TensorMapL2Promotion64B = 1,
  TensorMapL2Promotion128B = 2,
  TensorMapL2Promotion256B = 3
};

enum TensorMapFill : int { TensorMapFillZero = 0, TensorMapFillNaN = 1 };

/// CUtensorMap: opaque, passed to a kernel by value.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

enum LaunchAttributeID : int {
  LaunchAttributeClusterDimension = 4,
  LaunchAttributeProgrammaticStreamSerialization = 6
};

/// CUlaunchAttribute: an identifier, padding to 8 bytes and a value of 64.
struct alignas(8) LaunchAttribute {
  LaunchAttributeID id;
  char padding[4];
  union {
    char bytes[64];
    unsigned clusterDimension[3];
    int isSerializationProgrammatic;
    uint64_t alignment;
  } value;
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedMemoryBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

static_assert(sizeof(TensorMap) == 128, "CUtensorMap has 128 bytes");
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute has 72 bytes");
static_assert(sizeof(MemoryPoolProperties) == 88,
              "CUmemPoolProps has 88 bytes");
static_assert(sizeof(LaunchConfig) == 56, "CUlaunchConfig has 56 bytes");

} // namespace mlir::fa::runtime::cuda

/// Every function in use, as X(symbol, parameters). All are in CUDA 12.0.
#define FA_CUDA_DRIVER_FUNCTIONS(X)                                            \
  X(cuInit, (unsigned flags))                                                  \
  X(cuDriverGetVersion, (int *version))                                        \
  X(cuGetErrorName, (Result result, const char **name))                        \
  X(cuGetErrorString, (Result result, const char **text))                      \
  X(cuDeviceGetCount, (int *count))                                            \
  X(cuDeviceGet, (DeviceHandle * device, int ordinal))                         \
  X(cuDeviceGetName, (char *name, int length, DeviceHandle device))            \
  X(cuDeviceGetAttribute,                                                      \
    (int *value, DeviceAttribute attribute, DeviceHandle device))              \
  X(cuDevicePrimaryCtxRetain, (Context * context, DeviceHandle device))        \
  X(cuDevicePrimaryCtxRelease_v2, (DeviceHandle device))                       \
  X(cuCtxGetCurrent, (Context * context))                                      \
  X(cuCtxPushCurrent_v2, (Context context))                                    \
  X(cuCtxPopCurrent_v2, (Context * context))                                   \
  X(cuModuleLoadDataEx, (Module * module, const void *image, unsigned count,   \
                         JITOption *options, void **values))                   \
  X(cuModuleUnload, (Module module))                                           \
  X(cuModuleGetFunction,                                                       \
    (Function * function, Module module, const char *name))                    \
  X(cuFuncGetAttribute,                                                        \
    (int *value, FunctionAttribute attribute, Function function))              \
  X(cuFuncSetAttribute,                                                        \
    (Function function, FunctionAttribute attribute, int value))               \
  X(cuLaunchKernel, (Function function, unsigned gridX, unsigned gridY,        \
                     unsigned gridZ, unsigned blockX, unsigned blockY,         \
                     unsigned blockZ, unsigned sharedMemoryBytes,              \
                     Stream stream, void **parameters, void **extra))          \
  X(cuLaunchKernelEx, (const LaunchConfig *config, Function function,          \
                       void **parameters, void **extra))                       \
  X(cuMemAlloc_v2, (DevicePointer * address, size_t bytes))                    \
  X(cuMemFree_v2, (DevicePointer address))                                     \
  X(cuMemPoolCreate,                                                           \
    (MemoryPool * pool, const MemoryPoolProperties *properties))               \
  X(cuMemPoolDestroy, (MemoryPool pool))                                       \
  X(cuMemPoolSetAttribute,                                                     \
    (MemoryPool pool, MemoryPoolAttribute attribute, void *value))             \
  X(cuMemAllocFromPoolAsync,                                                   \
    (DevicePointer * address, size_t bytes, MemoryPool pool, Stream stream))   \
  X(cuMemFreeAsync, (DevicePointer address, Stream stream))                    \
  X(cuMemcpyHtoD_v2, (DevicePointer target, const void *source, size_t bytes)) \
  X(cuMemcpyDtoH_v2, (void *target, DevicePointer source, size_t bytes))       \
  X(cuMemsetD8Async,                                                           \
    (DevicePointer address, unsigned char value, size_t count, Stream stream)) \
  X(cuStreamCreate, (Stream * stream, unsigned flags))                         \
  X(cuStreamDestroy_v2, (Stream stream))                                       \
  X(cuStreamSynchronize, (Stream stream))                                      \
  X(cuStreamGetId, (Stream stream, unsigned long long *identifier))            \
  X(cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))           \
  X(cuStreamGetCaptureInfo_v2,                                                 \
    (Stream stream, CaptureStatus * status, uint64_t *identifier,              \
     Graph *graph, const GraphNode **dependencies, size_t *dependencyCount))   \
  X(cuThreadExchangeStreamCaptureMode, (CaptureMode * mode))                   \
  X(cuEventCreate, (Event * event, unsigned flags))                            \
  X(cuEventRecord, (Event event, Stream stream))                               \
  X(cuEventQuery, (Event event))                                               \
  X(cuEventElapsedTime, (float *milliseconds, Event start, Event end))         \
  X(cuEventDestroy_v2, (Event event))                                          \
  X(cuUserObjectCreate,                                                        \
    (UserObject * object, void *payload, HostFunction destroy,                 \
     unsigned initialCount, unsigned flags))                                   \
  X(cuUserObjectRelease, (UserObject object, unsigned count))                  \
  X(cuGraphRetainUserObject,                                                   \
    (Graph graph, UserObject object, unsigned count, unsigned flags))          \
  X(cuPointerGetAttribute,                                                     \
    (void *value, PointerAttribute attribute, DevicePointer address))          \
  X(cuTensorMapEncodeTiled,                                                    \
    (TensorMap * map, TensorMapDataType type, uint32_t rank, void *address,    \
     const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,      \
     const uint32_t *elementStrides, TensorMapInterleave interleave,           \
     TensorMapSwizzle swizzle, TensorMapL2Promotion promotion,                 \
     TensorMapFill fill))

/// Functions of later drivers, used where they are there.
#define FA_CUDA_OPTIONAL_DRIVER_FUNCTIONS(X)                                   \
  X(cuFuncGetParamInfo,                                                        \
    (Function function, size_t index, size_t *offset, size_t *size))

namespace mlir::fa::runtime::cuda {

/// The functions, by the names of the manual. Optional ones may be null.
struct DriverFunctions {
#define FA_DECLARE(NAME, PARAMETERS)                                           \
  using NAME##Type = Result(*) PARAMETERS;                                     \
  NAME##Type NAME = nullptr;
  FA_CUDA_DRIVER_FUNCTIONS(FA_DECLARE)
  FA_CUDA_OPTIONAL_DRIVER_FUNCTIONS(FA_DECLARE)
#undef FA_DECLARE
};

} // namespace mlir::fa::runtime::cuda

#endif // FA_RUNTIME_CUDA_DRIVERAPI_H
