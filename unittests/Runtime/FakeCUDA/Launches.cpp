//===- Launches.cpp - Modules and launches of the fake driver -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules, functions and launches of the fake driver (FakeCUDA.h). A module
// keeps its image as text, in which cuModuleGetFunction looks for the kernel:
// `parseFakeKernel` reads its line, `parsePTX` its directives. Both forms of
// launch end in `record`, which copies the parameters and runs nothing.
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstring>
#include <iterator>
#include <numeric>
#include <sstream>

using namespace fake;

/// Starts a kernel in PTX.
static const std::string entryDirective = ".visible .entry ";

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
                     const unsigned *cluster, bool isDependent,
                     void **parameters) {
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
  launch.isDependent = isDependent;
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
  return record(function, config, cluster, false, parameters);
}

FAKE(cuLaunchKernelEx, const LaunchConfig *config, Function function,
     void **parameters, void **) {
  ENTER(cuLaunchKernelEx)
  const unsigned single[3] = {1, 1, 1};
  const unsigned *cluster = single;
  bool isDependent = false;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == LaunchAttributeClusterDimension)
      cluster = attribute.value.clusterDimension;
    else if (attribute.id == LaunchAttributeProgrammaticStreamSerialization)
      isDependent = attribute.value.isSerializationProgrammatic;
    else
      return InvalidValue;
  }
  return record(function, *config, cluster, isDependent, parameters);
}
