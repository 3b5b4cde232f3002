//===- FakeCUDA.cpp - A CUDA driver that records and fails on request -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCUDA.h"

#include "fa/Runtime/CUDA/DriverAPI.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace mlir::fa::runtime::cuda;

namespace mlir::fa::runtime::cuda {
struct CUctx_st {
  int device;
  int references = 0;
};
struct CUmod_st {
  CUctx_st *context;
  std::string image;
};
struct CUfunc_st {
  std::string name;
  CUctx_st *context;
  int threads = 0;
  int staticBytes = 0;
  int dynamicLimit = 48 * 1024;
  std::vector<size_t> sizes;
};
struct CUuserObject_st {
  void *payload;
  HostFunction destroy;
  unsigned references;
};
struct CUgraph_st {
  std::vector<CUuserObject_st *> objects;
};
struct CUstream_st {
  uint64_t id;
  CUgraph_st *capture = nullptr;
  bool invalidated = false;
};
struct CUmemPoolHandle_st {
  int device;
};
struct CUevent_st {
  bool recorded = false;
  bool pending = false;
};
} // namespace mlir::fa::runtime::cuda

namespace {
struct Failure {
  int result;
  int skip;
  int times;
};

/// The major or minor number of FAKE_CUDA_CAPABILITY, else the one given.
int getCapability(bool isMajor, int otherwise) {
  const char *text = getenv("FAKE_CUDA_CAPABILITY");
  int major = 0, minor = 0;
  if (!text || sscanf(text, "%d.%d", &major, &minor) != 2)
    return otherwise;
  return isMajor ? major : minor;
}

/// Everything the fake knows; guarded by one mutex.
struct State {
  int version = 13000;
  int deviceCount = 1;
  int major = getCapability(/*isMajor=*/true, 9);
  int minor = getCapability(/*isMajor=*/false, 0);
  bool holdEvents = false;
  uint64_t nextStream = 100;
  uint64_t nextAddress = 0;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  std::deque<FakeLaunch> launches;
  CUctx_st contexts[8];
  std::set<CUmod_st *> modules;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  std::set<uint64_t> allocations;
  std::set<CUmemPoolHandle_st *> pools;
  /// Address to bytes.
  std::map<uint64_t, size_t> zeroed;
  std::set<CUstream_st *> streams;
  std::set<CUstream_st *> ownStreams;
  std::set<CUevent_st *> events;
  std::set<CUuserObject_st *> objects;
};
} // namespace

static std::recursive_mutex mutex;
static State state;
static thread_local std::vector<CUctx_st *> contextStack;
static thread_local CaptureMode captureMode = CaptureModeGlobal;

/// Counts a call; the result that it is told to fail with, else Success.
static Result enter(const char *function) {
  ++state.calls[function];
  auto found = state.failures.find(function);
  if (found == state.failures.end())
    return Success;
  Failure &failure = found->second;
  if (failure.skip-- > 0)
    return Success;
  if (failure.times-- <= 0) {
    state.failures.erase(found);
    return Success;
  }
  return Result(failure.result);
}

#define ENTER(NAME)                                                            \
  std::lock_guard<std::recursive_mutex> lock(mutex);                           \
  if (Result failure = enter(#NAME))                                           \
    return failure;

#define FAKE(NAME, ...) extern "C" FAKE_EXPORTED Result NAME(__VA_ARGS__)

/// Starts a kernel in PTX.
static const std::string entryDirective = ".visible .entry ";

static constexpr Result captureUnsupported = Result(900);
static constexpr Result captureIsolation = Result(905);

/// What the driver calls unsafe: it fails, and ends the capture, while a stream
/// is captured in the default mode and this thread has not opted out.
static bool isForbidden() {
  if (captureMode == CaptureModeRelaxed)
    return false;
  bool forbidden = false;
  for (CUstream_st *stream : state.streams) {
    if (!stream->capture)
      continue;
    stream->invalidated = true;
    forbidden = true;
  }
  return forbidden;
}

#define ENTER_UNSAFE(NAME)                                                     \
  ENTER(NAME)                                                                  \
  if (isForbidden())                                                           \
    return captureUnsupported;

static CUctx_st *getContext() {
  return contextStack.empty() ? nullptr : contextStack.back();
}

static void release(CUuserObject_st *object) {
  if (--object->references != 0)
    return;
  state.objects.erase(object);
  object->destroy(object->payload);
  delete object;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void fakeReset() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (CUstream_st *stream : state.streams)
    delete stream;
  for (CUmod_st *module : state.modules)
    delete module;
  for (CUevent_st *event : state.events)
    delete event;
  for (CUuserObject_st *object : state.objects)
    delete object;
  state.~State();
  new (&state) State();
  contextStack.clear();
  captureMode = CaptureModeGlobal;
}

void fakeSetDriverVersion(int version) { state.version = version; }

void fakeSetDevices(int count, int major, int minor) {
  state.deviceCount = count;
  state.major = major;
  state.minor = minor;
}

void fakeFail(const char *function, int result, int skip, int times) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  state.failures[function] = {result, skip, times};
}

int fakeGetCalls(const char *function) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return state.calls[function];
}

int fakeGetLaunchCount() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return state.launches.size();
}

const FakeLaunch *fakeGetLaunch(int index) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return &state.launches[index];
}

bool fakeIsZeroed(uint64_t address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto after = state.zeroed.upper_bound(address);
  return after != state.zeroed.begin() &&
         address - std::prev(after)->first < std::prev(after)->second;
}

uint64_t fakeBase(int device) { return uint64_t(10 + device) << 40; }

int fakeGetLiveObjects() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  int count = state.modules.size() + state.allocations.size() +
              state.pools.size() + state.ownStreams.size() +
              state.events.size() + state.objects.size();
  for (const CUctx_st &context : state.contexts)
    count += context.references;
  return count;
}

void *fakeCreateStream() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto *stream = new CUstream_st{state.nextStream++};
  state.streams.insert(stream);
  return stream;
}

void fakeDestroyStream(void *stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  state.streams.erase(static_cast<CUstream_st *>(stream));
  delete static_cast<CUstream_st *>(stream);
}

void fakeBeginCapture(void *stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  static_cast<CUstream_st *>(stream)->capture = new CUgraph_st();
}

void *fakeEndCapture(void *handle) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto *stream = static_cast<CUstream_st *>(handle);
  CUgraph_st *graph = stream->capture;
  stream->capture = nullptr;
  if (stream->invalidated) {
    stream->invalidated = false;
    fakeDestroyGraph(graph);
    return nullptr;
  }
  return graph;
}

void *fakeInstantiate(void *graph) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto *instance = new CUgraph_st(*static_cast<CUgraph_st *>(graph));
  for (CUuserObject_st *object : instance->objects)
    ++object->references;
  return instance;
}

void fakeDestroyGraph(void *graph) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (CUuserObject_st *object : static_cast<CUgraph_st *>(graph)->objects)
    release(object);
  delete static_cast<CUgraph_st *>(graph);
}

void fakeHoldEvents(bool hold) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  state.holdEvents = hold;
  if (!hold)
    for (CUevent_st *event : state.events)
      event->pending = false;
}

bool fakeHasContext() { return getContext(); }

//===----------------------------------------------------------------------===//
// Initialisation, devices, contexts
//===----------------------------------------------------------------------===//

FAKE(cuInit, unsigned) {
  ENTER(cuInit)
  return state.deviceCount ? Success : NoDevice;
}

FAKE(cuDriverGetVersion, int *version) {
  ENTER(cuDriverGetVersion)
  *version = state.version;
  return Success;
}

FAKE(cuGetErrorName, Result result, const char **name) {
  static const std::map<int, const char *> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
  auto found = names.find(result);
  if (found == names.end())
    return InvalidValue;
  *name = found->second;
  return Success;
}

FAKE(cuGetErrorString, Result result, const char **text) {
  *text = result == OutOfMemory ? "out of memory" : "refused by the fake";
  return Success;
}

FAKE(cuDeviceGetCount, int *count) {
  ENTER(cuDeviceGetCount)
  *count = state.deviceCount;
  return Success;
}

FAKE(cuDeviceGet, DeviceHandle *device, int ordinal) {
  ENTER(cuDeviceGet)
  if (ordinal >= state.deviceCount)
    return InvalidDevice;
  *device = ordinal;
  return Success;
}

FAKE(cuDeviceGetName, char *name, int length, DeviceHandle) {
  ENTER(cuDeviceGetName)
  strncpy(name, "Fake GPU", length);
  return Success;
}

FAKE(cuDeviceGetAttribute, int *value, DeviceAttribute attribute,
     DeviceHandle) {
  ENTER(cuDeviceGetAttribute)
  static const std::map<int, int> values = {
      {MaxThreadsPerBlock, 1024},
      {MaxBlockDimX, 1024},
      {MaxBlockDimY, 1024},
      {MaxBlockDimZ, 64},
      {MaxGridDimX, 2147483647},
      {MaxGridDimY, 65535},
      {MaxGridDimZ, 65535},
      {MultiprocessorCount, 132},
      {MaxSharedMemoryPerBlockOptin, 232448}};
  if (attribute == ComputeCapabilityMajor)
    *value = state.major;
  else if (attribute == ComputeCapabilityMinor)
    *value = state.minor;
  else
    *value = values.at(attribute);
  return Success;
}

FAKE(cuDevicePrimaryCtxRetain, Context *context, DeviceHandle device) {
  ENTER(cuDevicePrimaryCtxRetain)
  *context = &state.contexts[device];
  (*context)->device = device;
  ++(*context)->references;
  return Success;
}

FAKE(cuDevicePrimaryCtxRelease_v2, DeviceHandle device) {
  ENTER(cuDevicePrimaryCtxRelease_v2)
  --state.contexts[device].references;
  return Success;
}

FAKE(cuCtxGetCurrent, Context *context) {
  ENTER(cuCtxGetCurrent)
  *context = getContext();
  return Success;
}

FAKE(cuCtxPushCurrent_v2, Context context) {
  ENTER(cuCtxPushCurrent_v2)
  contextStack.push_back(context);
  return Success;
}

FAKE(cuCtxPopCurrent_v2, Context *context) {
  ENTER(cuCtxPopCurrent_v2)
  if (contextStack.empty())
    return InvalidContext;
  *context = contextStack.back();
  contextStack.pop_back();
  return Success;
}

//===----------------------------------------------------------------------===//
// Modules and functions
//===----------------------------------------------------------------------===//

FAKE(cuModuleLoadDataEx, Module *module, const void *image, unsigned,
     JITOption *, void **values) {
  ENTER_UNSAFE(cuModuleLoadDataEx)
  if (!getContext())
    return InvalidContext;
  std::string text = static_cast<const char *>(image);
  if (text.find("fake-kernel:") == std::string::npos &&
      text.find(entryDirective) == std::string::npos) {
    strcpy(static_cast<char *>(values[0]), "fake: unknown instruction");
    return InvalidImage;
  }
  *module = new CUmod_st{getContext(), text};
  state.modules.insert(*module);
  return Success;
}

FAKE(cuModuleUnload, Module module) {
  ENTER(cuModuleUnload)
  if (getContext() != module->context)
    return InvalidContext;
  state.modules.erase(module);
  delete module;
  return Success;
}

static void parseFakeKernel(const std::string &image, const std::string &name,
                            CUfunc_st &function) {
  static const std::string mark = "fake-kernel:";
  for (size_t at = image.find(mark); at != std::string::npos;
       at = image.find(mark, at + 1)) {
    std::istringstream stream(image.substr(at + mark.size()));
    std::string line;
    std::getline(stream, line);
    std::istringstream fields(line);
    fields >> function.name >> function.threads >> function.staticBytes;
    if (function.name != name)
      continue;
    for (size_t size; fields >> size;)
      function.sizes.push_back(size);
    return;
  }
}

/// Bytes of a parameter, as in ".param .u64 x" and ".param .b8 map[128]".
static size_t getParameterBytes(const std::string &line) {
  size_t count = 1, bracket = line.find('[');
  if (bracket != std::string::npos)
    count = std::stoul(line.substr(bracket + 1));
  for (size_t bits : {64, 32, 16, 8})
    for (char kind : {'u', 'b', 's', 'f'})
      if (line.find(std::string(" .") + kind + std::to_string(bits) + " ") !=
          std::string::npos)
        return count * bits / 8;
  return 0;
}

static void parsePTX(const std::string &image, const std::string &name,
                     CUfunc_st &function) {
  size_t at = image.find(entryDirective + name + "(");
  if (at == std::string::npos)
    return;
  function.name = name;
  std::istringstream stream(image.substr(at));
  for (std::string line; std::getline(stream, line) && line[0] != '{';) {
    if (line.find(".param ") != std::string::npos)
      function.sizes.push_back(getParameterBytes(line));
    if (line.compare(0, strlen(".maxntid "), ".maxntid ") == 0)
      function.threads = std::stoi(line.substr(strlen(".maxntid ")));
  }
}

FAKE(cuModuleGetFunction, Function *function, Module module, const char *name) {
  ENTER(cuModuleGetFunction)
  auto parsed = std::make_unique<CUfunc_st>();
  if (module->image.find("fake-kernel:") != std::string::npos)
    parseFakeKernel(module->image, name, *parsed);
  else
    parsePTX(module->image, name, *parsed);
  if (parsed->name != name)
    return NotFound;
  const std::vector<size_t> &sizes = parsed->sizes;
  if (sizes.size() > std::size(decltype(FakeLaunch::offsets){}) ||
      std::accumulate(sizes.begin(), sizes.end(), size_t(0)) >
          sizeof(FakeLaunch::parameters))
    return InvalidImage;
  parsed->context = module->context;
  *function = parsed.get();
  state.functions.push_back(std::move(parsed));
  return Success;
}

FAKE(cuFuncGetAttribute, int *value, FunctionAttribute attribute,
     Function function) {
  ENTER(cuFuncGetAttribute)
  *value = attribute == FunctionMaxThreadsPerBlock ? function->threads
                                                   : function->staticBytes;
  return Success;
}

FAKE(cuFuncSetAttribute, Function function, FunctionAttribute attribute,
     int value) {
  ENTER(cuFuncSetAttribute)
  if (attribute == FunctionMaxDynamicSharedSizeBytes)
    function->dynamicLimit = value;
  return Success;
}

FAKE(cuFuncGetParamInfo, Function function, size_t index, size_t *offset,
     size_t *size) {
  ENTER(cuFuncGetParamInfo)
  if (index >= function->sizes.size())
    return InvalidValue;
  *offset = 0;
  *size = function->sizes[index];
  return Success;
}

static Result record(Function function, const LaunchConfig &config,
                     const unsigned *cluster, void **parameters) {
  if (getContext() != function->context)
    return InvalidContext;
  if (int(config.sharedMemoryBytes) > function->dynamicLimit)
    return InvalidValue;
  for (unsigned size : config.grid)
    if (size == 0)
      return InvalidValue;
  FakeLaunch launch = {};
  strncpy(launch.kernel, function->name.c_str(), sizeof(launch.kernel) - 1);
  memcpy(launch.grid, config.grid, sizeof(launch.grid));
  memcpy(launch.block, config.block, sizeof(launch.block));
  memcpy(launch.cluster, cluster, sizeof(launch.cluster));
  launch.sharedMemory = config.sharedMemoryBytes;
  launch.streamID = config.stream ? config.stream->id : 1;
  launch.graph = config.stream ? config.stream->capture : nullptr;
  launch.device = function->context->device;
  uint32_t offset = 0;
  for (size_t size : function->sizes) {
    launch.offsets[launch.parameterCount] = offset;
    memcpy(launch.parameters + offset, parameters[launch.parameterCount++],
           size);
    offset += size;
  }
  state.launches.push_back(launch);
  return Success;
}

FAKE(cuLaunchKernel, Function function, unsigned gridX, unsigned gridY,
     unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
     unsigned sharedMemoryBytes, Stream stream, void **parameters, void **) {
  ENTER(cuLaunchKernel)
  static constexpr unsigned cluster[3] = {1, 1, 1};
  LaunchConfig config = {{gridX, gridY, gridZ},
                         {blockX, blockY, blockZ},
                         sharedMemoryBytes,
                         stream,
                         nullptr,
                         0};
  return record(function, config, cluster, parameters);
}

FAKE(cuLaunchKernelEx, const LaunchConfig *config, Function function,
     void **parameters, void **) {
  ENTER(cuLaunchKernelEx)
  if (config->attributeCount != 1 ||
      config->attributes[0].id != LaunchAttributeClusterDimension)
    return InvalidValue;
  return record(function, *config, config->attributes[0].value.clusterDimension,
                parameters);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FAKE(cuMemAlloc_v2, DevicePointer *address, size_t bytes) {
  ENTER_UNSAFE(cuMemAlloc_v2)
  if (!getContext())
    return InvalidContext;
  *address =
      fakeBase(getContext()->device) + (uint64_t(1) << 39) + state.nextAddress;
  state.nextAddress += (bytes + 255) / 256 * 256;
  state.allocations.insert(*address);
  return Success;
}

FAKE(cuMemFree_v2, DevicePointer address) {
  ENTER(cuMemFree_v2)
  return state.allocations.erase(address) ? Success : InvalidValue;
}

FAKE(cuMemPoolCreate, MemoryPool *pool, const MemoryPoolProperties *made) {
  ENTER_UNSAFE(cuMemPoolCreate)
  if (made->allocationType != MemoryAllocationPinned ||
      made->locationType != MemoryLocationDevice)
    return InvalidValue;
  *pool = new CUmemPoolHandle_st{made->location};
  state.pools.insert(*pool);
  return Success;
}

FAKE(cuMemPoolDestroy, MemoryPool pool) {
  ENTER(cuMemPoolDestroy)
  if (!state.pools.erase(pool))
    return InvalidValue;
  delete pool;
  return Success;
}

FAKE(cuMemPoolSetAttribute, MemoryPool pool, MemoryPoolAttribute attribute,
     void *) {
  ENTER(cuMemPoolSetAttribute)
  return state.pools.count(pool) && attribute == MemoryPoolReleaseThreshold
             ? Success
             : InvalidValue;
}

FAKE(cuMemAllocFromPoolAsync, DevicePointer *address, size_t bytes,
     MemoryPool pool, Stream) {
  ENTER(cuMemAllocFromPoolAsync)
  if (!state.pools.count(pool) || bytes == 0)
    return InvalidValue;
  *address = fakeBase(pool->device) + (uint64_t(1) << 39) + state.nextAddress;
  state.nextAddress += (bytes + 255) / 256 * 256;
  state.allocations.insert(*address);
  return Success;
}

FAKE(cuMemFreeAsync, DevicePointer address, Stream) {
  ENTER(cuMemFreeAsync)
  return state.allocations.erase(address) ? Success : InvalidValue;
}

FAKE(cuMemcpyHtoD_v2, DevicePointer, const void *, size_t) {
  ENTER(cuMemcpyHtoD_v2)
  return Success;
}

FAKE(cuMemcpyDtoH_v2, void *, DevicePointer, size_t) {
  ENTER(cuMemcpyDtoH_v2)
  return Success;
}

FAKE(cuMemsetD8Async, DevicePointer address, unsigned char value, size_t bytes,
     Stream) {
  ENTER(cuMemsetD8Async)
  if (value == 0)
    state.zeroed[address] = bytes;
  return Success;
}

FAKE(cuPointerGetAttribute, void *value, PointerAttribute,
     DevicePointer address) {
  ENTER(cuPointerGetAttribute)
  if (address < fakeBase(0) || address >= fakeBase(state.deviceCount))
    return InvalidValue;
  *static_cast<int *>(value) = int(address >> 40) - 10;
  return Success;
}

FAKE(cuTensorMapEncodeTiled, TensorMap *map, TensorMapDataType type,
     uint32_t rank, void *address, const uint64_t *sizes,
     const uint64_t *strides, const uint32_t *box, const uint32_t *,
     TensorMapInterleave, TensorMapSwizzle swizzle,
     TensorMapL2Promotion promotion, TensorMapFill) {
  ENTER(cuTensorMapEncodeTiled)
  FakeTensorMap fake = {};
  fake.address = reinterpret_cast<uint64_t>(address);
  if (rank == 0 || rank > 5 || fake.address % 16 != 0)
    return InvalidValue;
  for (uint32_t i = 0; i != rank; ++i) {
    if (sizes[i] == 0 || box[i] == 0 || box[i] > 256 ||
        (i != 0 && strides[i - 1] % 16 != 0))
      return InvalidValue;
    fake.sizes[i] = sizes[i];
    fake.box[i] = box[i];
    if (i != 0)
      fake.strides[i - 1] = strides[i - 1];
  }
  fake.type = type;
  fake.rank = rank;
  fake.swizzle = swizzle;
  fake.promotion = promotion;
  static_assert(sizeof(fake) <= sizeof(*map), "the fake map fits");
  memcpy(map, &fake, sizeof(fake));
  return Success;
}

//===----------------------------------------------------------------------===//
// Streams, events, graphs
//===----------------------------------------------------------------------===//

FAKE(cuStreamCreate, Stream *stream, unsigned) {
  ENTER_UNSAFE(cuStreamCreate)
  *stream = new CUstream_st{state.nextStream++};
  state.ownStreams.insert(*stream);
  return Success;
}

FAKE(cuStreamDestroy_v2, Stream stream) {
  ENTER(cuStreamDestroy_v2)
  state.ownStreams.erase(stream);
  delete stream;
  return Success;
}

FAKE(cuStreamGetId, Stream stream, unsigned long long *identifier) {
  ENTER(cuStreamGetId)
  *identifier = stream ? stream->id : 1;
  return Success;
}

FAKE(cuStreamWaitEvent, Stream stream, Event, unsigned flags) {
  ENTER(cuStreamWaitEvent)
  bool isCapturing = stream && stream->capture;
  return isCapturing && flags != EventWaitExternal ? captureIsolation : Success;
}

FAKE(cuStreamGetCaptureInfo_v2, Stream stream, CaptureStatus *status,
     uint64_t *, Graph *graph, const GraphNode **, size_t *) {
  ENTER(cuStreamGetCaptureInfo_v2)
  *status = CaptureStatusNone;
  if (stream && stream->capture) {
    *status =
        stream->invalidated ? CaptureStatusInvalidated : CaptureStatusActive;
    *graph = stream->capture;
  }
  return Success;
}

FAKE(cuThreadExchangeStreamCaptureMode, CaptureMode *mode) {
  ENTER(cuThreadExchangeStreamCaptureMode)
  std::swap(*mode, captureMode);
  return Success;
}

FAKE(cuEventCreate, Event *event, unsigned) {
  ENTER(cuEventCreate)
  *event = new CUevent_st();
  state.events.insert(*event);
  return Success;
}

FAKE(cuEventRecord, Event event, Stream) {
  ENTER(cuEventRecord)
  event->recorded = true;
  event->pending = state.holdEvents;
  return Success;
}

FAKE(cuEventQuery, Event event) {
  ENTER_UNSAFE(cuEventQuery)
  return event->pending ? NotReady : Success;
}

FAKE(cuEventElapsedTime, float *milliseconds, Event, Event) {
  ENTER(cuEventElapsedTime)
  *milliseconds = 1;
  return Success;
}

FAKE(cuStreamSynchronize, Stream) {
  ENTER(cuStreamSynchronize)
  return Success;
}

FAKE(cuEventDestroy_v2, Event event) {
  ENTER(cuEventDestroy_v2)
  state.events.erase(event);
  delete event;
  return Success;
}

FAKE(cuUserObjectCreate, UserObject *object, void *payload,
     HostFunction destroy, unsigned count, unsigned) {
  ENTER(cuUserObjectCreate)
  *object = new CUuserObject_st{payload, destroy, count};
  state.objects.insert(*object);
  return Success;
}

FAKE(cuUserObjectRelease, UserObject object, unsigned) {
  ENTER(cuUserObjectRelease)
  release(object);
  return Success;
}

FAKE(cuGraphRetainUserObject, Graph graph, UserObject object, unsigned,
     unsigned) {
  ENTER(cuGraphRetainUserObject)
  graph->objects.push_back(object);
  return Success;
}
