//===- CPUFunction.cpp - A compiled function with checked calls -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles one function of a module for this CPU, saves and loads it, and calls
// it on strided memory. Read `compile` and `load`, then `call`, which checks
// all that compiled code relies on.
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/CPUFunction.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Export/Compile.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "fa/Runtime/CUDA/Manifest.h"
#include "fa/Runtime/CUDA/RoundNumbers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;
using llvm::Error;
using llvm::Expected;

namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static LogicalResult checkFunction(func::FuncOp function) {
  if (!function.isPublic())
    return function.emitError("'")
           << function.getName() << "' is private: an entry must be public";
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return function.emitError("'")
             << function.getName() << "' result " << i << " has type " << type
             << ", but the CPU target returns tensors only";
  return success();
}

OwningOpRef<ModuleOp> mlir::fa::isolateForCPU(func::FuncOp function) {
  OwningOpRef<ModuleOp> copy = function->getParentOfType<ModuleOp>().clone();
  for (auto other : copy->getOps<func::FuncOp>())
    if (other.getName() != function.getName())
      other.setPrivate();
  PassManager manager(copy->getContext());
  manager.addPass(createSymbolDCEPass());
  buildExpandAppliesPipeline(manager);
  manager.addPass(createFAResultsToOutParameters());
  return succeeded(manager.run(*copy)) ? std::move(copy) : nullptr;
}

FailureOr<std::unique_ptr<CPUFunction>>
CPUFunction::compile(func::FuncOp function, ArrayRef<std::string> names,
                     const CPUCompileOptions &options) {
  if (failed(checkFunction(function)))
    return failure();
  OwningOpRef<ModuleOp> module = isolateForCPU(function);
  if (!module)
    return failure();
  auto interface = describeInterface(
      function, module->lookupSymbol<func::FuncOp>(function.getName()),
      addResultNames(function, SmallVector<std::string>(names)));
  if (failed(interface))
    return failure();
  auto compiled = std::make_unique<CPUFunction>();
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(*interface));
  if (Error error = compiled->readInterface(std::move(text)))
    return function.emitError() << llvm::toString(std::move(error));
  auto code = compileToCPU(*module, options);
  if (failed(code))
    return failure();
  compiled->cpu = describeCPU(options);
  compiled->module = std::move(*code);
  auto entry = compiled->module->lookup(function.getName());
  if (!entry)
    return function.emitError() << llvm::toString(entry.takeError());
  compiled->code = *entry;
  return compiled;
}

Error CPUFunction::readInterface(std::string text) {
  interface = std::move(text);
  auto value = json::parse(interface);
  if (!value)
    return value.takeError();
  json::Object &object = *value->getAsObject();
  description.name = object.getString("function")->str();
  if (Error error = runtime::readArguments(object, description))
    return error;
  for (const json::Value &argument : *object.getArray("arguments"))
    isOutput.push_back(
        argument.getAsObject()->getBoolean("output").value_or(false));
  auto get = [](const json::Value &entry, StringRef key) {
    return *entry.getAsObject()->getInteger(key);
  };
  for (const json::Value &bound : *object.getArray("lengths"))
    lengthBounds.push_back({unsigned(get(bound, "lengths")),
                            unsigned(get(bound, "argument")),
                            unsigned(get(bound, "dim")), get(bound, "extent")});
  for (const json::Value &heads : *object.getArray("grouped_heads"))
    groupedHeads.push_back(
        {unsigned(get(heads, "query")), unsigned(get(heads, "query_dim")),
         unsigned(get(heads, "key")), unsigned(get(heads, "key_dim"))});
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Saved functions
//===----------------------------------------------------------------------===//

// The digest of all that follows, then interface and processor as one line of
// JSON, then an object file.
static constexpr StringLiteral savedMagic = "fa-mlir CPU function 1 ";

static std::string getDigest(StringRef bytes) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)),
                     true);
}

std::string CPUFunction::save() const {
  std::string rest;
  llvm::raw_string_ostream stream(rest);
  stream << json::Value(json::Object{{"interface", interface}, {"cpu", cpu}})
         << '\n'
         << module->getObject();
  return savedMagic.str() + getDigest(rest) + "\n" + rest;
}

Expected<std::unique_ptr<CPUFunction>> CPUFunction::load(StringRef bytes,
                                                         bool &isOfOther) {
  auto damaged = [] {
    return llvm::createStringError(
        "the bytes are damaged, or no compiled function of this version");
  };
  if (!bytes.consume_front(savedMagic))
    return damaged();
  auto [digest, rest] = bytes.split('\n');
  if (digest != getDigest(rest))
    return damaged();
  auto [line, object] = rest.split('\n');
  auto header = json::parse(line);
  if (!header)
    return header.takeError();
  auto loaded = std::make_unique<CPUFunction>();
  loaded->cpu = header->getAsObject()->getString("cpu")->str();
  isOfOther = loaded->cpu != describeCPU();
  if (isOfOther)
    return llvm::createStringError(
        "the function was compiled for the processor " +
        StringRef(loaded->cpu).split(',').first +
        ", or one with other features, expected this machine's, " +
        StringRef(describeCPU()).split(',').first.str());
  if (Error error = loaded->readInterface(
          header->getAsObject()->getString("interface")->str()))
    return error;
  auto module = loadCPUObject(object);
  if (!module)
    return module.takeError();
  loaded->module = std::move(*module);
  auto entry = loaded->module->lookup(loaded->description.name);
  if (!entry)
    return entry.takeError();
  loaded->code = *entry;
  return loaded;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Error CPUFunction::fail(unsigned argument, const Twine &message) const {
  return llvm::createStringError(
      "argument '" + description.arguments[argument].name + "' " + message);
}

Error CPUFunction::checkOutputs(ArrayRef<FaArgument> arguments) const {
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (!isOutput[i])
      continue;
    if (argument.flags & FA_READ_ONLY)
      return fail(i, "is written, but its memory is read-only");
    // Frameworks put any strides where there are no elements.
    if (argument.rank > 0 &&
        llvm::is_contained(ArrayRef(argument.shape, argument.rank), 0))
      continue;
    for (int dim = 0; dim < argument.rank; ++dim)
      if (argument.shape[dim] > 1 && argument.strides[dim] == 0)
        return fail(i, "is written, but has stride 0 in dim " + Twine(dim) +
                           " of size " + Twine(argument.shape[dim]) +
                           ", so that elements overlap");
  }
  return Error::success();
}

Error CPUFunction::checkHeads(ArrayRef<FaArgument> arguments) const {
  for (const GroupedHeads &heads : groupedHeads) {
    int64_t query = arguments[heads.query].shape[heads.queryDim];
    int64_t key = arguments[heads.key].shape[heads.keyDim];
    if (key == 0 ? query != 0 : query % key != 0)
      return fail(heads.query, "has " + Twine(query) +
                                   " heads, expected a multiple of the " +
                                   Twine(key) + " of '" +
                                   description.arguments[heads.key].name + "'");
  }
  return Error::success();
}

Error CPUFunction::checkLengths(ArrayRef<FaArgument> arguments) const {
  for (const LengthBound &bound : lengthBounds) {
    const FaArgument &lengths = arguments[bound.lengths];
    int64_t limit = bound.extent >= 0
                        ? bound.extent
                        : arguments[bound.argument].shape[bound.dim];
    const auto *values = static_cast<const int32_t *>(lengths.value.data);
    for (int64_t i = 0; i < lengths.shape[0]; ++i) {
      int32_t length = values[i * lengths.strides[0]];
      if (length < 0 || length > limit)
        return fail(bound.lengths,
                    "has the length " + Twine(length) + " for batch item " +
                        Twine(i) + ", expected 0 to " + Twine(limit) +
                        ", the size of '" +
                        description.arguments[bound.argument].name + "'");
    }
  }
  return Error::success();
}

/// The bytes of a number as compiled code takes it.
static int64_t convertNumber(FaDataType type, const FaArgument &argument) {
  if (!runtime::isFloat(type))
    return argument.value.integer;
  double number = argument.type == FA_TYPE_I64
                      ? static_cast<double>(argument.value.integer)
                      : argument.value.real;
  switch (type) {
  case FA_TYPE_F16:
  case FA_TYPE_BF16:
    return runtime::getHalfBits(type, number);
  case FA_TYPE_F32:
    return llvm::bit_cast<int32_t>(static_cast<float>(number));
  default:
    return llvm::bit_cast<int64_t>(number);
  }
}

Error CPUFunction::call(ArrayRef<FaArgument> arguments) const {
  if (arguments.size() != description.arguments.size())
    return llvm::createStringError(
        "function '" + description.name + "' takes " +
        Twine(description.arguments.size()) + " arguments, got " +
        Twine(arguments.size()));
  if (Error error = runtime::checkArguments(description, arguments))
    return error;
  if (Error error = checkOutputs(arguments))
    return error;
  if (Error error = checkHeads(arguments))
    return error;
  if (Error error = checkLengths(arguments))
    return error;
  // Neither moves once its address is taken.
  std::vector<MemRefDescriptor> descriptors;
  std::vector<int64_t> numbers;
  descriptors.reserve(arguments.size());
  numbers.reserve(arguments.size());
  SmallVector<void *> addresses;
  for (auto [spec, argument] :
       llvm::zip_equal(description.arguments, arguments)) {
    if (spec.isScalar) {
      numbers.push_back(convertNumber(spec.type, argument));
      addresses.push_back(&numbers.back());
      continue;
    }
    descriptors.emplace_back(argument.value.data,
                             ArrayRef(argument.shape, argument.rank),
                             ArrayRef(argument.strides, argument.rank));
    addresses.push_back(descriptors.back().get());
  }
  code(addresses.data());
  return Error::success();
}
