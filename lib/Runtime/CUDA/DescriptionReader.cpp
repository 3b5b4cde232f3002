//===- DescriptionReader.cpp - Arguments and values of a manifest ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads arguments, values and requirements of a manifest into a
// KernelDescription, and refuses what is not well-formed, with its place.
// Read `readKernel`; the functions follow the order of the JSON.
// ParameterReader.cpp has the launches' parameters.
//
//===----------------------------------------------------------------------===//

#include "ManifestReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::fa::runtime;
using llvm::StringRef;
using llvm::Twine;

namespace json = llvm::json;

static constexpr int64_t maxAlignment = 4096;

bool DescriptionReader::readKernel(const ManifestObject &root) {
  std::optional<StringRef> chip = root.getString("chip");
  if (!root.getString("kernel") || !chip)
    return false;
  std::optional<Chip> parsed = Chip::parse(*chip);
  if (!parsed)
    return root.fail(root.at("chip"),
                     "expected an architecture such as sm_80 or sm_90a, got '" +
                         *chip + "'");
  description.chip = *parsed;
  return readFunction(root, description) && readArguments(root) &&
         readValues(root) && readRequirements(root) && readWorkspaces(root) &&
         readBefore(root) && readParameters(root, description) &&
         readGrid(root, description);
}

/// The name of a launched function, and what does not depend on arguments.
bool DescriptionReader::readFunction(const ManifestObject &object,
                                     LaunchDescription &launch) {
  std::optional<StringRef> name = object.getString("kernel");
  if (!name)
    return false;
  launch.name = name->str();
  if (!object.getSizes("block", 1024, launch.block))
    return false;
  if (launch.getBlockSize() > 1024)
    return object.fail(object.at("block"),
                       "expected at most 1024 threads, got " +
                           Twine(launch.getBlockSize()));
  if (object.has("cluster") && !object.getSizes("cluster", 16, launch.cluster))
    return false;
  if (launch.getClusterSize() > 16)
    return object.fail(object.at("cluster"),
                       "expected at most 16 blocks in a cluster, got " +
                           Twine(launch.getClusterSize()));
  std::optional<bool> dependent = object.getBoolean("dependent");
  if (!dependent)
    return false;
  launch.isDependent = *dependent;
  if (object.has("shared_memory")) {
    std::optional<int64_t> bytes =
        object.getInteger("shared_memory", 0, 1 << 20);
    if (!bytes)
      return false;
    launch.sharedMemory = *bytes;
  }
  return true;
}

bool DescriptionReader::readWorkspaces(const ManifestObject &root) {
  if (!root.has("workspaces"))
    return true;
  const json::Array *array = root.getArray("workspaces");
  if (!array)
    return false;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<ManifestObject> object =
        root.getObject("workspaces", value, index);
    if (!object || !object->checkKeys({"name", "bytes"}))
      return false;
    std::optional<StringRef> name = object->getString("name");
    std::optional<Slot> bytes = readOperand(*object, "bytes");
    if (!name || !bytes)
      return false;
    if (description.program.isReal(*bytes))
      return object->fail(object->at("bytes"),
                          "expected an integer, got an f64");
    if (findWorkspace(*name))
      return object->fail(object->at("name"),
                          "the name '" + *name + "' is taken");
    description.workspaces.push_back({name->str(), *bytes});
  }
  return true;
}

bool DescriptionReader::readBefore(const ManifestObject &root) {
  if (!root.has("before"))
    return true;
  const json::Array *array = root.getArray("before");
  if (!array)
    return false;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<ManifestObject> object =
        root.getObject("before", value, index);
    LaunchDescription launch;
    if (!object ||
        !object->checkKeys({"kernel", "block", "cluster", "dependent",
                            "shared_memory", "parameters", "grid"}) ||
        !readFunction(*object, launch) || !readParameters(*object, launch) ||
        !readGrid(*object, launch))
      return false;
    description.before.push_back(std::move(launch));
  }
  return true;
}

std::optional<unsigned> DescriptionReader::findWorkspace(StringRef name) const {
  for (auto [index, spec] : llvm::enumerate(description.workspaces))
    if (spec.name == name)
      return index;
  return std::nullopt;
}

static bool checkIdentifier(const ManifestObject &object, StringRef key,
                            StringRef name) {
  if (!name.empty() && !llvm::isDigit(name.front()) &&
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return true;
  return object.fail(object.at(key),
                     "expected a name of letters, digits and '_', got '" +
                         name + "'");
}

bool DescriptionReader::define(const ManifestObject &object, StringRef key,
                               StringRef name, Slot slot) {
  if (!checkIdentifier(object, key, name))
    return false;
  if (name == "multiprocessors" || !names.try_emplace(name, slot).second)
    return object.fail(object.at(key), "the name '" + name + "' is taken");
  return true;
}

bool DescriptionReader::readArguments(const ManifestObject &root) {
  const json::Array *array = root.getArray("arguments");
  if (!array)
    return false;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<ManifestObject> object =
        root.getObject("arguments", value, index);
    if (!object || !readArgument(*object))
      return false;
  }
  return true;
}

bool DescriptionReader::readArgument(const ManifestObject &object) {
  ArgumentSpec spec;
  std::optional<StringRef> name = object.getString("name");
  std::optional<StringRef> type = object.getString("dtype");
  if (!name || !type)
    return false;
  spec.name = name->str();
  if (!checkIdentifier(object, "name", *name))
    return false;
  if (findArgument(*name))
    return object.fail(object.at("name"), "the name '" + *name + "' is taken");
  std::optional<FaDataType> parsed = parseDataType(*type);
  if (!parsed)
    return object.fail(object.at("dtype"),
                       "expected f16, bf16, f32, f64, i1, i8, i32, i64, "
                       "f8E4M3FN or f8E5M2, got '" +
                           *type + "'");
  spec.type = *parsed;

  unsigned index = description.arguments.size();
  spec.isScalar = !object.has("shape");
  if (spec.isScalar) {
    if (!object.checkKeys({"name", "dtype", "default"}))
      return false;
    if (const json::Value *value = object.get("default"))
      if (!value->getAsNumber() ||
          (!isFloat(spec.type) && !value->getAsInteger()))
        return object.fail(object.at("default"), "expected a number of type " +
                                                     *type + ", got " +
                                                     show(*value));
    Slot slot = description.program.addScalar(index, spec.type);
    description.arguments.push_back(std::move(spec));
    return define(object, "name", *name, slot);
  }

  if (!object.checkKeys({"name", "dtype", "shape", "strides", "alignment",
                         "stride_alignment", "output"}) ||
      !object.getBoolean("output"))
    return false;
  for (auto [key, field] :
       {std::pair("alignment", &ArgumentSpec::alignment),
        std::pair("stride_alignment", &ArgumentSpec::strideAlignment)}) {
    if (!object.has(key))
      continue;
    std::optional<int64_t> bytes = object.getInteger(key, 1, maxAlignment);
    if (!bytes)
      return false;
    if (!llvm::isPowerOf2_64(*bytes))
      return object.fail(object.at(key),
                         "expected a power of two, got " + Twine(*bytes));
    spec.*field = *bytes;
  }
  spec.strideAlignment =
      std::max<int64_t>(spec.strideAlignment, getSize(spec.type));
  spec.alignment = std::max<int64_t>(spec.alignment, getSize(spec.type));
  // The spec is in place first, since a dim may name one of its own dims.
  description.arguments.push_back(spec);
  return readShape(object, description.arguments.back()) &&
         readStrides(object, description.arguments.back());
}

bool DescriptionReader::readShape(const ManifestObject &object,
                                  ArgumentSpec &spec) {
  const json::Array *array = object.getArray("shape");
  if (!array)
    return false;
  if (array->size() > FA_MAX_RANK)
    return object.fail(object.at("shape"),
                       "expected 0 to " + Twine(int(FA_MAX_RANK)) +
                           " dims, got " + Twine(array->size()));
  unsigned argument = description.arguments.size() - 1;
  for (auto [index, value] : llvm::enumerate(*array)) {
    DimSpec dim;
    if (std::optional<int64_t> size = value.getAsInteger(); size && *size > 0) {
      dim.kind = DimSpec::Static;
      dim.size = *size;
    } else if (std::optional<StringRef> name = value.getAsString()) {
      auto *symbol =
          llvm::find_if(description.symbols, [&](const DimSymbol &symbol) {
            return symbol.name == *name;
          });
      dim.kind = *name == "?" ? DimSpec::Any : DimSpec::Symbol;
      dim.symbol = symbol - description.symbols.begin();
      if (*name != "?" && symbol == description.symbols.end()) {
        description.symbols.push_back({name->str(), argument, unsigned(index)});
        Slot slot = description.program.addDim(argument, index);
        if (!define(object, "shape", *name, slot))
          return false;
      }
    } else {
      return object.fail(object.at("shape", index),
                         "expected a positive integer, the name of a dim or "
                         "\"?\", got " +
                             show(value));
    }
    spec.shape.push_back(dim);
  }
  return true;
}

bool DescriptionReader::readStrides(const ManifestObject &object,
                                    ArgumentSpec &spec) {
  spec.strides.assign(spec.shape.size(), std::nullopt);
  const json::Value *value = object.get("strides");
  if (!value)
    return true;
  if (value->getAsString() == StringRef("contiguous")) {
    spec.contiguous = true;
    return true;
  }
  const json::Array *array = value->getAsArray();
  if (!array || array->size() != spec.shape.size())
    return object.fail(object.at("strides"),
                       "expected \"contiguous\" or one stride for each of " +
                           Twine(spec.shape.size()) + " dims, got " +
                           show(*value));
  for (auto [index, stride] : llvm::enumerate(*array)) {
    if (stride.getAsString() == StringRef("?"))
      continue;
    std::optional<int64_t> size = stride.getAsInteger();
    if (!size || *size < 0)
      return object.fail(object.at("strides", index),
                         "expected an integer from 0 up or \"?\", got " +
                             show(stride));
    spec.strides[index] = *size;
  }
  return true;
}

std::optional<unsigned> DescriptionReader::findArgument(StringRef name) const {
  for (auto [index, spec] : llvm::enumerate(description.arguments))
    if (spec.name == name)
      return index;
  return std::nullopt;
}

/// `query.dim.1` and `query.stride.1`, of a tensor argument `query`.
std::optional<Slot>
DescriptionReader::readNamedOperand(const ManifestObject &object,
                                    StringRef name, const Twine &where) {
  if (name == "multiprocessors")
    return description.program.addMultiprocessors();
  if (auto found = names.find(name); found != names.end())
    return found->second;
  auto [argumentName, field] = name.split('.');
  auto [kind, dimText] = field.split('.');
  std::optional<unsigned> argument = findArgument(argumentName);
  unsigned dim = 0;
  if (!argument || (kind != "dim" && kind != "stride") ||
      dimText.getAsInteger(10, dim))
    return object.fail(where,
                       "expected a number or the name of a dim, a scalar or a "
                       "value before, multiprocessors, ARGUMENT.dim.N or "
                       "ARGUMENT.stride.N, got '" +
                           name + "'"),
           std::nullopt;
  unsigned rank = description.arguments[*argument].shape.size();
  if (dim >= rank)
    return object.fail(where, "argument '" + argumentName + "' has rank " +
                                  Twine(rank) + ", got '" + name + "'"),
           std::nullopt;
  return kind == "dim" ? description.program.addDim(*argument, dim)
                       : description.program.addStride(*argument, dim);
}

std::optional<Slot> DescriptionReader::readOperand(const ManifestObject &object,
                                                   const json::Value &value,
                                                   const Twine &where) {
  if (std::optional<int64_t> integer = value.getAsInteger())
    return description.program.addInteger(*integer);
  if (std::optional<double> number = value.getAsNumber())
    return description.program.addReal(*number);
  if (std::optional<StringRef> name = value.getAsString())
    return readNamedOperand(object, *name, where);
  return object.fail(where, "expected a number or a name, got " + show(value)),
         std::nullopt;
}

std::optional<Slot> DescriptionReader::readOperand(const ManifestObject &object,
                                                   StringRef key) {
  if (const json::Value *value = object.get(key))
    return readOperand(object, *value, object.at(key));
  return object.fail(object.at(key), "this field is missing"), std::nullopt;
}

bool DescriptionReader::readValues(const ManifestObject &root) {
  if (!root.has("values"))
    return true;
  const json::Array *array = root.getArray("values");
  if (!array)
    return false;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<ManifestObject> object =
        root.getObject("values", value, index);
    if (!object || !object->checkKeys({"name", "op", "operands"}))
      return false;
    std::optional<StringRef> name = object->getString("name");
    std::optional<StringRef> operation = object->getString("op");
    const json::Array *operands = object->getArray("operands");
    if (!name || !operation || !operands)
      return false;
    std::optional<Opcode> opcode = parseOpcode(*operation);
    if (!opcode)
      return object->fail(object->at("op"), "expected one of " +
                                                getOpcodeNames() + ", got '" +
                                                *operation + "'");
    llvm::SmallVector<Slot, 3> slots;
    for (auto [position, operand] : llvm::enumerate(*operands)) {
      std::optional<Slot> slot =
          readOperand(*object, operand, object->at("operands", position));
      if (!slot)
        return false;
      slots.push_back(*slot);
    }
    llvm::Expected<Slot> result =
        description.program.addOperation(*opcode, slots, *name);
    if (!result)
      return object->fail(object->at("operands"), toString(result.takeError()));
    if (!define(*object, "name", *name, *result))
      return false;
  }
  return true;
}

bool DescriptionReader::readRequirements(const ManifestObject &root) {
  if (!root.has("requirements"))
    return true;
  const json::Array *array = root.getArray("requirements");
  if (!array)
    return false;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<ManifestObject> object =
        root.getObject("requirements", value, index);
    if (!object || !object->checkKeys({"condition", "message", "show"}))
      return false;
    std::optional<Slot> condition = readOperand(*object, "condition");
    std::optional<StringRef> message = object->getString("message");
    if (!condition || !message)
      return false;
    if (description.program.isReal(*condition))
      return object->fail(object->at("condition"),
                          "expected an integer, got an f64");
    Requirement requirement{*condition, message->str(), {}};
    if (object->has("show")) {
      const json::Array *shown = object->getArray("show");
      if (!shown)
        return false;
      for (auto [position, name] : llvm::enumerate(*shown)) {
        std::optional<Slot> slot =
            readOperand(*object, name, object->at("show", position));
        if (!slot)
          return false;
        requirement.shown.push_back(
            {name.getAsString().value_or("").str(), *slot});
      }
    }
    description.requirements.push_back(std::move(requirement));
  }
  return true;
}

bool DescriptionReader::readGrid(const ManifestObject &root,
                                 LaunchDescription &launch) {
  const json::Array *array = root.getArray("grid");
  if (!array)
    return false;
  if (array->empty() || array->size() > 3)
    return root.fail(root.at("grid"),
                     "expected 1 to 3 sizes, got " + Twine(array->size()));
  for (unsigned i = 0; i != 3; ++i) {
    if (i >= array->size()) {
      launch.grid[i] = description.program.addInteger(1);
      continue;
    }
    std::optional<Slot> slot =
        readOperand(root, (*array)[i], root.at("grid", i));
    if (!slot)
      return false;
    if (description.program.isReal(*slot))
      return root.fail(root.at("grid", i), "expected an integer, got an f64");
    launch.grid[i] = *slot;
  }
  return true;
}
