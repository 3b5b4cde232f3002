//===- KernelDescription.cpp - What a launch needs to know ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/KernelDescription.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::fa::runtime;
using llvm::StringRef;
using llvm::Twine;

namespace {
struct TypeInfo {
  StringRef name;
  unsigned size;
  bool isFloat;
};
} // namespace

/// In the order of FaDataType.
static constexpr TypeInfo types[] = {{"f16", 2, true},    {"bf16", 2, true},
                                     {"f32", 4, true},    {"f64", 8, true},
                                     {"i8", 1, false},    {"i32", 4, false},
                                     {"i64", 8, false},   {"f8E4M3FN", 1, true},
                                     {"f8E5M2", 1, true}, {"i1", 1, false}};

StringRef mlir::fa::runtime::getName(int type) {
  return unsigned(type) < std::size(types) ? types[type].name
                                           : StringRef("an unknown type");
}

std::optional<FaDataType> mlir::fa::runtime::parseDataType(StringRef name) {
  for (auto [index, info] : llvm::enumerate(types))
    if (info.name == name)
      return FaDataType(index);
  return std::nullopt;
}

unsigned mlir::fa::runtime::getSize(FaDataType type) {
  return types[type].size;
}

bool mlir::fa::runtime::isFloat(FaDataType type) { return types[type].isFloat; }

std::optional<Chip> Chip::parse(StringRef name) {
  Chip chip;
  if (!name.consume_front("sm_"))
    return std::nullopt;
  if (name.ends_with("a") || name.ends_with("f")) {
    chip.suffix = name.back();
    name = name.drop_back();
  }
  unsigned number;
  if (name.getAsInteger(10, number) || number < 10 || number > 999)
    return std::nullopt;
  chip.major = number / 10;
  chip.minor = number % 10;
  return chip;
}

std::string Chip::getName() const {
  std::string name = ("sm_" + Twine(major) + Twine(minor)).str();
  if (suffix)
    name += suffix;
  return name;
}

bool Chip::runsCubinOn(int deviceMajor, int deviceMinor) const {
  if (suffix == 'a')
    return deviceMajor == major && deviceMinor == minor;
  return deviceMajor == major && deviceMinor >= minor;
}

bool Chip::takesPTXOn(int deviceMajor, int deviceMinor) const {
  if (suffix)
    return runsCubinOn(deviceMajor, deviceMinor);
  return deviceMajor * 10 + deviceMinor >= major * 10 + minor;
}

unsigned ParameterSpec::getSizeInBytes() const {
  switch (kind) {
  case TensorMap:
    return sizeof(cuda::TensorMap);
  case I1:
  case I8:
    return 1;
  case F16:
  case BF16:
    return 2;
  case I32:
  case F32:
    return 4;
  case Pointer:
  case I64:
  case F64:
  case Counter:
  case Workspace:
    return 8;
  }
  llvm_unreachable("every kind has a size");
}

llvm::SmallVector<StringRef, 2> KernelDescription::listFunctions() const {
  llvm::SmallVector<StringRef, 2> names;
  for (const LaunchDescription &launch : before)
    names.push_back(launch.name);
  names.push_back(name);
  return names;
}

bool LaunchDescription::hasCounter() const {
  return llvm::any_of(parameters, [](const ParameterSpec &parameter) {
    return parameter.kind == ParameterSpec::Counter;
  });
}
