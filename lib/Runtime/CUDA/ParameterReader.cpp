//===- ParameterReader.cpp - Kernel parameters of a manifest --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the parameters of a launch from a manifest: numbers, pointers, tensor
// maps. What the driver would refuse of a tensor map is refused here, with
// its place in the JSON. Read `readParameter`, then `readTensorMap`.
//
//===----------------------------------------------------------------------===//

#include "ManifestReader.h"

#include "fa/Runtime/CUDA/Counters.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::fa::runtime;
using llvm::StringRef;
using llvm::Twine;

namespace json = llvm::json;

bool DescriptionReader::readParameters(const ManifestObject &root,
                                       LaunchDescription &launch) {
  const json::Array *array = root.getArray("parameters");
  if (!array)
    return false;
  unsigned counters = 0;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<ManifestObject> object =
        root.getObject("parameters", value, index);
    if (!object || !readParameter(*object, launch))
      return false;
    counters += launch.parameters.back().kind == ParameterSpec::Counter;
    if (counters > 1)
      return object->fail(object->at("counter"),
                          "a kernel has one counter parameter at most");
  }
  return true;
}

bool DescriptionReader::readParameter(const ManifestObject &object,
                                      LaunchDescription &launch) {
  static constexpr std::pair<StringRef, ParameterSpec::Kind> kinds[] = {
      {"tensor_map", ParameterSpec::TensorMap},
      {"pointer", ParameterSpec::Pointer},
      {"i1", ParameterSpec::I1},
      {"i8", ParameterSpec::I8},
      {"i32", ParameterSpec::I32},
      {"i64", ParameterSpec::I64},
      {"f16", ParameterSpec::F16},
      {"bf16", ParameterSpec::BF16},
      {"f32", ParameterSpec::F32},
      {"f64", ParameterSpec::F64},
      {"counter", ParameterSpec::Counter},
      {"workspace", ParameterSpec::Workspace}};
  const auto *kind = llvm::find_if(
      kinds, [&](const auto &kind) { return object.has(kind.first); });
  if (kind == std::end(kinds))
    return object.fail(object.at("pointer"),
                       "expected a parameter of tensor_map, pointer, i1, "
                       "i8, i32, i64, f16, bf16, f32, f64, counter or "
                       "workspace");
  ParameterSpec parameter;
  parameter.kind = kind->second;
  if (parameter.kind == ParameterSpec::TensorMap) {
    if (!readTensorMap(object, parameter))
      return false;
    launch.parameters.push_back(std::move(parameter));
    return true;
  }

  if (parameter.kind == ParameterSpec::Pointer) {
    if (!object.checkKeys({"pointer", "offset"}) ||
        !readPlace(object, kind->first, parameter))
      return false;
    launch.parameters.push_back(std::move(parameter));
    return true;
  }
  if (!object.checkKeys({kind->first}))
    return false;
  switch (parameter.kind) {
  case ParameterSpec::Workspace:
    if (!readWorkspaceName(object, kind->first, parameter))
      return false;
    break;
  case ParameterSpec::Counter:
    if (!object.getInteger(kind->first, 1, CounterPool::wordsPerSlot))
      return false;
    break;
  default: {
    std::optional<Slot> slot = readOperand(object, kind->first);
    if (!slot)
      return false;
    if (description.program.isReal(*slot) && !parameter.isReal())
      return object.fail(object.at(kind->first),
                         "expected an integer, got an f64");
    parameter.value = *slot;
  }
  }
  launch.parameters.push_back(std::move(parameter));
  return true;
}

std::optional<unsigned>
DescriptionReader::readTensorName(const ManifestObject &object, StringRef key) {
  std::optional<StringRef> name = object.getString(key);
  if (!name)
    return std::nullopt;
  std::optional<unsigned> argument = findArgument(*name);
  if (!argument || description.arguments[*argument].isScalar)
    return object.fail(object.at(key),
                       "there is no tensor argument '" + *name + "'"),
           std::nullopt;
  return argument;
}

bool DescriptionReader::readPlace(const ManifestObject &object, StringRef key,
                                  ParameterSpec &parameter) {
  std::optional<unsigned> argument = readTensorName(object, key);
  if (!argument)
    return false;
  parameter.argument = *argument;
  if (!object.has("offset"))
    return true;
  parameter.offset = readOperand(object, "offset");
  if (!parameter.offset)
    return false;
  if (description.program.isReal(*parameter.offset))
    return object.fail(object.at("offset"), "expected an integer, got an f64");
  return true;
}

/// Reads an optional field that is one of `choices` as its position there.
static bool readBytes(const ManifestObject &object, StringRef key,
                      llvm::ArrayRef<int64_t> choices, unsigned &position) {
  if (!object.has(key))
    return true;
  std::optional<int64_t> bytes = object.getInteger(key, 0, 256);
  if (!bytes)
    return false;
  const auto *found = llvm::find(choices, *bytes);
  if (found == choices.end())
    return object.fail(object.at(key), "expected " + Twine(choices[0]) + ", " +
                                           Twine(choices[1]) + ", " +
                                           Twine(choices[2]) + " or " +
                                           Twine(choices[3]) + " bytes, got " +
                                           Twine(*bytes));
  position = found - choices.begin();
  return true;
}

/// With the type of its elements, which a workspace has not.
bool DescriptionReader::readMappedMemory(const ManifestObject &object,
                                         ParameterSpec &parameter) {
  parameter.isOfWorkspace = object.has("dtype");
  if (!parameter.isOfWorkspace) {
    if (!readPlace(object, "tensor_map", parameter))
      return false;
    ArgumentSpec &spec = description.arguments[parameter.argument];
    spec.alignment = std::max<int64_t>(spec.alignment, 16);
    parameter.type = spec.type;
    return true;
  }
  if (object.has("offset"))
    return object.fail(object.at("offset"),
                       "a tensor map of a workspace begins where it does, "
                       "expected no offset");
  std::optional<StringRef> type = object.getString("dtype");
  std::optional<FaDataType> parsed = type ? parseDataType(*type) : std::nullopt;
  if (!parsed)
    return object.fail(object.at("dtype"),
                       "expected the type of an argument, as f16");
  parameter.type = *parsed;
  return readWorkspaceName(object, "tensor_map", parameter);
}

bool DescriptionReader::readWorkspaceName(const ManifestObject &object,
                                          StringRef key,
                                          ParameterSpec &parameter) {
  std::optional<StringRef> name = object.getString(key);
  if (!name)
    return false;
  std::optional<unsigned> workspace = findWorkspace(*name);
  if (!workspace)
    return object.fail(object.at(key), "there is no workspace '" + *name + "'");
  parameter.argument = *workspace;
  return true;
}

bool DescriptionReader::readTensorMap(const ManifestObject &object,
                                      ParameterSpec &parameter) {
  if (!object.checkKeys({"tensor_map", "dtype", "offset", "dims", "swizzle",
                         "l2_promotion", "nan"}) ||
      !readMappedMemory(object, parameter))
    return false;
  const json::Array *dims = object.getArray("dims");
  if (!dims)
    return false;
  if (dims->empty() || dims->size() > 5)
    return object.fail(object.at("dims"), "a tensor map has 1 to 5 dims, got " +
                                              Twine(dims->size()));
  for (auto [index, value] : llvm::enumerate(*dims)) {
    std::optional<ManifestObject> dim = object.getObject("dims", value, index);
    if (!dim || !readMapDim(*dim, index == 0, parameter))
      return false;
  }
  // The driver's enumerations number the sizes in this order.
  unsigned swizzle = parameter.swizzle;
  unsigned promotion = parameter.promotion;
  if (!readBytes(object, "swizzle", {0, 32, 64, 128}, swizzle) ||
      !readBytes(object, "l2_promotion", {0, 64, 128, 256}, promotion))
    return false;
  parameter.swizzle = cuda::TensorMapSwizzle(swizzle);
  parameter.promotion = cuda::TensorMapL2Promotion(promotion);
  if (object.has("nan")) {
    std::optional<bool> fillsNaN = object.getBoolean("nan");
    if (!fillsNaN)
      return false;
    parameter.fillsNaN = *fillsNaN;
  }
  return checkInnerBox(object, parameter);
}

bool DescriptionReader::readMapDim(const ManifestObject &object,
                                   bool isInnermost, ParameterSpec &parameter) {
  if (isInnermost ? !object.checkKeys({"size", "box"})
                  : !object.checkKeys({"size", "stride", "box"}))
    return false;
  std::optional<Slot> size = readOperand(object, "size");
  std::optional<Slot> stride =
      isInnermost ? size : readOperand(object, "stride");
  std::optional<int64_t> box = object.getInteger("box", 1, 256);
  if (!size || !stride || !box)
    return false;
  if (description.program.isReal(*size) || description.program.isReal(*stride))
    return object.fail(object.at("size"),
                       "sizes and strides are integers, got an f64");
  parameter.dims.push_back({*size, *stride, uint32_t(*box)});
  return true;
}

bool DescriptionReader::checkInnerBox(const ManifestObject &object,
                                      const ParameterSpec &parameter) {
  uint32_t bytes = parameter.dims.front().box * getSize(parameter.type);
  if (bytes % 16 != 0)
    return object.fail(object.at("dims", 0),
                       "the innermost box has " + Twine(bytes) +
                           " bytes; a multiple of 16 is needed");
  static constexpr uint32_t spans[] = {UINT32_MAX, 32, 64, 128};
  if (bytes > spans[parameter.swizzle])
    return object.fail(
        object.at("dims", 0),
        "the innermost box has " + Twine(bytes) + " bytes; a swizzle of " +
            Twine(spans[parameter.swizzle]) + " bytes takes at most that many");
  return true;
}
