//===- InputSpec.cpp - Values of arguments from the command line ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `--input` says of an argument: a shape, numbers, a random fill,
// or a file of NumPy's. Sizes that memory cannot hold are refused first. Read
// `parseInput`, near the end, then `fillFromText`.
//
//===----------------------------------------------------------------------===//

#include "InputSpec.h"
#include "Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Type fa::getInterfaceElementType(Type type) {
  return getElementTypeOrSelf(type);
}

ArrayRef<int64_t> fa::getInterfaceShape(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.getShape();
  return {};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Fails unless the shape is one of the argument's type.
static llvm::Error checkShape(ArrayRef<int64_t> shape, Type type) {
  ArrayRef<int64_t> expected = getInterfaceShape(type);
  if (shape.size() != expected.size())
    return makeError("has " + Twine(shape.size()) + " dimensions, but " +
                     toText(type) + " has " + Twine(expected.size()));
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!ShapedType::isDynamic(expected[dim]) && expected[dim] != size)
      return makeError("has size " + Twine(size) + " in dimension " +
                       Twine(dim) + ", but " + toText(type) + " has " +
                       Twine(expected[dim]));
  return llvm::Error::success();
}

llvm::Error fa::checkMemory(Type elementType, ArrayRef<int64_t> shape) {
  // 1 TiB where the system does not tell.
  static const double limit = [] {
    double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                   static_cast<double>(sysconf(_SC_PAGESIZE));
    return bytes > 0 ? bytes : 0x1p40;
  }();
  double bytes = HostBuffer(elementType, {0}).getElementSize();
  for (int64_t size : shape)
    bytes *= static_cast<double>(size);
  if (bytes <= limit)
    return llvm::Error::success();
  return makeError(
      llvm::formatv("needs {0:e2} bytes of memory, but this machine has {1:e2}",
                    bytes, limit)
          .str());
}

/// Splits `2x3xf32` into sizes and the name of the element type.
static llvm::Expected<std::pair<SmallVector<int64_t>, StringRef>>
parseShape(StringRef text) {
  std::string whole = text.str();
  SmallVector<int64_t> shape;
  while (!text.empty() && llvm::isDigit(text.front())) {
    int64_t size;
    if (text.consumeInteger(10, size) || !text.consume_front("x"))
      return makeError(
          "is malformed: expected sizes and an element type, as in "
          "2x512x8x64xbf16" +
          (llvm::all_of(whole, llvm::isDigit)
               ? ", or a type and a number, as in index=" + whole
               : std::string()));
    shape.push_back(size);
  }
  if (text.empty())
    return makeError("is malformed: expected sizes and an element type, as in "
                     "2x512x8x64xbf16");
  return std::make_pair(shape, text);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static llvm::Expected<Slot> parseNumber(StringRef text, Type elementType) {
  text = text.trim();
  if (isa<FloatType>(elementType)) {
    double value;
    if (text.getAsDouble(value))
      return makeError("has the value '" + text + "', but a number of type " +
                       toText(elementType) + " was expected");
    return Slot::ofReal(value);
  }
  unsigned width = getIntegerWidth(elementType);
  int64_t value;
  if (text == "true" || text == "false")
    value = text == "true";
  else if (text.getAsInteger(0, value))
    return makeError("has the value '" + text + "', but an integer of type " +
                     toText(elementType) + " was expected");
  bool fits = width == 64 || llvm::isIntN(width, value) ||
              llvm::isUIntN(width, static_cast<uint64_t>(value));
  if (!fits)
    return makeError("has the value " + text + ", which does not fit " +
                     toText(elementType));
  return Slot::ofInteger(wrapInteger(value, width));
}

static llvm::Error parseList(StringRef text, HostBuffer &buffer) {
  SmallVector<StringRef> parts;
  std::string flat;
  int64_t depth = 0;
  for (char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0)
      return makeError("has brackets that do not match");
    flat += c == '[' || c == ']' ? ' ' : c;
  }
  if (depth != 0)
    return makeError("has brackets that do not match");
  StringRef(flat).split(parts, ',');
  if (parts.size() == 1 && parts[0].trim().empty())
    parts.clear();
  if (static_cast<int64_t>(parts.size()) != buffer.getNumElements())
    return makeError("lists " + Twine(parts.size()) + " values for " +
                     Twine(buffer.getNumElements()) + " elements");
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto value = parseNumber(part, buffer.elementType);
    if (!value)
      return value.takeError();
    buffer.set(i, *value);
  }
  return llvm::Error::success();
}

static llvm::Error fillFromText(StringRef text, HostBuffer &buffer,
                                uint64_t seed) {
  if (text == "random") {
    buffer.fillRandom(seed);
    return llvm::Error::success();
  }
  if (text.starts_with("["))
    return parseList(text, buffer);
  auto value = parseNumber(text, buffer.elementType);
  if (!value)
    return value.takeError();
  buffer.fill(*value);
  return llvm::Error::success();
}

static llvm::Expected<HostBuffer> parseInput(StringRef spec, Type type,
                                             uint64_t seed) {
  Type elementType = getInterfaceElementType(type);
  if (spec.consume_front("@")) {
    auto buffer = readNpy(spec, elementType);
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error = checkShape(buffer->shape, type))
      return error;
    return buffer;
  }
  if (spec.ends_with(".npy"))
    return makeError("is malformed: expected a file as @" + spec);
  auto [typeText, valueText] = spec.split('=');
  auto shape = parseShape(typeText.trim());
  if (!shape)
    return shape.takeError();
  if (shape->second != toText(elementType))
    return makeError("has the element type '" + shape->second + "', but " +
                     toText(elementType) + " was expected");
  if (llvm::Error error = checkShape(shape->first, type))
    return error;
  if (llvm::Error error = checkMemory(elementType, shape->first))
    return error;
  HostBuffer buffer(elementType, shape->first);
  StringRef value = spec.contains('=') ? valueText.trim() : "random";
  if (llvm::Error error = fillFromText(value, buffer, seed))
    return error;
  return buffer;
}

llvm::Expected<HostBuffer> fa::makeInput(StringRef spec, Type type,
                                         uint64_t seed) {
  auto buffer = parseInput(spec, type, seed);
  if (!buffer)
    return makeError("--input=" + spec + " " +
                     llvm::toString(buffer.takeError()));
  return buffer;
}

llvm::Expected<HostBuffer> fa::makeDefaultInput(Type type, uint64_t seed) {
  ArrayRef<int64_t> shape = getInterfaceShape(type);
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return makeError("has the dynamic type " + toText(type) +
                     ": give its shape with --input");
  if (llvm::Error error = checkMemory(getInterfaceElementType(type), shape))
    return error;
  HostBuffer buffer(getInterfaceElementType(type), shape);
  buffer.fillRandom(seed);
  return buffer;
}
