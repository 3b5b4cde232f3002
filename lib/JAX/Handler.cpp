//===- Handler.cpp - The function that XLA calls --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One foreign function for CPU and CUDA: its attribute "key" says what to run,
// which the host compiles once, "numbers" are passed by value. Buffers of XLA
// are dense in row-major order. See ForeignCalls.h for XLA's side.
//
//===----------------------------------------------------------------------===//

#include "ForeignCalls.h"
#include "fa-c/Torch.h"
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

using namespace fa::jax;

static FaTorchCompile compileEntry;
static std::shared_mutex mutex;
static std::unordered_map<std::string, FaTorchEntry> entries;

namespace {
/// Types of XLA by FaDataType.
struct TypePair {
  int theirs, ours;
};
} // namespace

static constexpr TypePair typePairs[] = {
    {10, FA_TYPE_F16}, {16, FA_TYPE_BF16}, {11, FA_TYPE_F32},
    {12, FA_TYPE_F64}, {2, FA_TYPE_I8},    {6, FA_TYPE_I8},
    {4, FA_TYPE_I32},  {5, FA_TYPE_I64},   {1, FA_TYPE_I1}};

static Error makeError(const CallFrame *frame, const std::string &message) {
  ErrorArguments arguments = {sizeof arguments, nullptr, message.c_str(),
                              invalidArgument};
  return frame->api->createError(&arguments);
}

/// Returns what is wrong, "" for nothing.
static std::string addBuffer(const void *value, int device,
                             std::vector<FaArgument> &arguments) {
  const auto *buffer = static_cast<const Buffer *>(value);
  FaArgument argument;
  std::memset(&argument, 0, sizeof argument);
  if (buffer->rank < 1 || buffer->rank > FA_MAX_RANK)
    return "an array has rank " + std::to_string(buffer->rank) +
           ", expected 1 to 6";
  argument.type = -1;
  for (TypePair pair : typePairs)
    if (pair.theirs == buffer->type)
      argument.type = pair.ours;
  argument.value.data = buffer->data;
  argument.device = device;
  argument.rank = static_cast<int32_t>(buffer->rank);
  int64_t stride = 1;
  for (int64_t i = buffer->rank - 1; i >= 0; --i) {
    argument.shape[i] = buffer->shape[i];
    argument.strides[i] = stride;
    stride *= buffer->shape[i] > 1 ? buffer->shape[i] : 1;
  }
  arguments.push_back(argument);
  return "";
}

static void addNumber(double number, bool isInteger,
                      std::vector<FaArgument> &arguments) {
  FaArgument argument;
  std::memset(&argument, 0, sizeof argument);
  argument.rank = FA_SCALAR;
  argument.type = isInteger ? FA_TYPE_I64 : FA_TYPE_F64;
  if (isInteger)
    argument.value.integer = static_cast<int64_t>(number);
  else
    argument.value.real = number;
  arguments.push_back(argument);
}

/// Returns what is wrong, "" for nothing.
static std::string findEntry(const std::string &key, FaTorchEntry &entry) {
  {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto found = entries.find(key);
    if (found != entries.end()) {
      entry = found->second;
      return "";
    }
  }
  std::memset(&entry, 0, sizeof entry);
  if (const char *message = compileEntry(key.c_str(), &entry))
    return message;
  std::unique_lock<std::shared_mutex> lock(mutex);
  entries.emplace(key, entry);
  return "";
}

static Error run(const CallFrame *frame, bool isCUDA) {
  std::string key;
  const double *numbers = nullptr;
  size_t numberCount = 0;
  const Attributes &attributes = frame->attributes;
  for (int64_t i = 0; i < attributes.count; ++i) {
    std::string name(attributes.names[i]->data, attributes.names[i]->length);
    if (name == "key" && attributes.kinds[i] == attributeString) {
      const auto *span = static_cast<const Span *>(attributes.values[i]);
      key.assign(span->data, span->length);
    } else if (name == "numbers" && attributes.kinds[i] == attributeArray) {
      const auto *array = static_cast<const Array *>(attributes.values[i]);
      numbers = static_cast<const double *>(array->data);
      numberCount = array->size;
    }
  }
  StreamArguments stream = {sizeof stream, nullptr, frame->context, nullptr};
  DeviceArguments device = {sizeof device, nullptr, frame->context, 0};
  if (isCUDA) {
    if (Error error = frame->api->getStream(&stream))
      return error;
    if (Error error = frame->api->getDevice(&device))
      return error;
  }
  // The device stands behind the operation.
  size_t place = key.find('|');
  if (place == std::string::npos)
    return makeError(frame, "the attribute 'key' is missing");
  key.insert(place, isCUDA ? "|cuda:" + std::to_string(device.device) : "|cpu");
  FaTorchEntry entry;
  std::string wrong = findEntry(key, entry);
  std::vector<FaArgument> arguments;
  for (int64_t i = 0; i < frame->arguments.count && wrong.empty(); ++i)
    wrong = addBuffer(frame->arguments.values[i], device.device, arguments);
  for (size_t i = 0; i < numberCount; ++i)
    addNumber(numbers[i], entry.integer_numbers >> i & 1, arguments);
  for (int64_t i = 0; i < frame->results.count && wrong.empty(); ++i)
    wrong = addBuffer(frame->results.values[i], device.device, arguments);
  if (!wrong.empty())
    return makeError(frame, wrong);
  if (entry.kernel) {
    if (entry.launch_kernel(entry.kernel, arguments.data(), arguments.size(),
                            stream.stream))
      return makeError(frame, entry.get_kernel_error());
  } else if (entry.call_function(entry.function, arguments.data(),
                                 arguments.size())) {
    return makeError(frame, entry.get_function_error());
  }
  return nullptr;
}

static Error call(const CallFrame *frame, bool isCUDA) {
  for (Extension *each = frame->extensions; each; each = each->next)
    if (each->type == metadataExtension) {
      Metadata *metadata =
          reinterpret_cast<MetadataExtension *>(each)->metadata;
      metadata->version.majorVersion = majorVersion;
      metadata->version.minorVersion = minorVersion;
      metadata->traits = isCUDA ? isCapturable : 0;
      return nullptr;
    }
  return frame->stage == executeStage ? run(frame, isCUDA) : nullptr;
}

extern "C" {
__attribute__((visibility("default"))) void
faJAXInitialize(FaTorchCompile compile) {
  compileEntry = compile;
}
__attribute__((visibility("default"))) void *faJAXCallCPU(const void *frame) {
  return call(static_cast<const CallFrame *>(frame), /*isCUDA=*/false);
}
__attribute__((visibility("default"))) void *faJAXCallCUDA(const void *frame) {
  return call(static_cast<const CallFrame *>(frame), /*isCUDA=*/true);
}
}
