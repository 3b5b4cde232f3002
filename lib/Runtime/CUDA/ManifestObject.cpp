//===- ManifestObject.cpp - Typed access to the fields of a manifest ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::fa::runtime;
using llvm::StringRef;
using llvm::Twine;

namespace json = llvm::json;

std::string mlir::fa::runtime::show(const json::Value &value) {
  if (value.kind() == json::Value::Object)
    return "an object";
  if (value.kind() == json::Value::Array)
    return "an array";
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

bool ManifestObject::fail(const Twine &where, const Twine &message) const {
  if (error.empty())
    error = (where + ": " + message).str();
  return false;
}

std::string ManifestObject::at(StringRef key) const {
  return (path.empty() ? Twine(key) : Twine(path) + "." + key).str();
}

std::string ManifestObject::at(StringRef key, size_t index) const {
  return at(key) + "[" + std::to_string(index) + "]";
}

bool ManifestObject::checkKeys(llvm::ArrayRef<StringRef> keys) const {
  for (const auto &field : object)
    if (!llvm::is_contained(keys, StringRef(field.first)))
      return fail(at(field.first),
                  "no such field; there are " + llvm::join(keys, ", "));
  return true;
}

std::optional<StringRef> ManifestObject::getString(StringRef key) const {
  const json::Value *value = object.get(key);
  if (!value)
    return fail(at(key), "this field is missing"), std::nullopt;
  if (std::optional<StringRef> text = value->getAsString())
    if (!text->empty())
      return text;
  return fail(at(key), "expected a text, got " + show(*value)), std::nullopt;
}

std::optional<int64_t> ManifestObject::getInteger(StringRef key, int64_t least,
                                                  int64_t most) const {
  const json::Value *value = object.get(key);
  if (!value)
    return fail(at(key), "this field is missing"), std::nullopt;
  if (std::optional<int64_t> integer = value->getAsInteger())
    if (*integer >= least && *integer <= most)
      return integer;
  return fail(at(key), "expected an integer from " + Twine(least) + " to " +
                           Twine(most) + ", got " + show(*value)),
         std::nullopt;
}

const json::Array *ManifestObject::getArray(StringRef key) const {
  const json::Value *value = object.get(key);
  if (!value)
    return fail(at(key), "this field is missing"), nullptr;
  if (const json::Array *array = value->getAsArray())
    return array;
  return fail(at(key), "expected an array, got " + show(*value)), nullptr;
}

std::optional<bool> ManifestObject::getBoolean(StringRef key) const {
  const json::Value *value = object.get(key);
  if (!value)
    return false;
  if (std::optional<bool> boolean = value->getAsBoolean())
    return boolean;
  return fail(at(key), "expected true or false, got " + show(*value)),
         std::nullopt;
}

bool ManifestObject::getSizes(StringRef key, unsigned most,
                              std::array<unsigned, 3> &sizes) const {
  const json::Array *array = getArray(key);
  if (!array)
    return false;
  if (array->empty() || array->size() > 3)
    return fail(at(key), "expected 1 to 3 sizes, got " + Twine(array->size()));
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<int64_t> size = value.getAsInteger();
    if (!size || *size < 1 || *size > most)
      return fail(at(key, index), "expected an integer from 1 to " +
                                      Twine(most) + ", got " + show(value));
    sizes[index] = *size;
  }
  return true;
}

std::optional<ManifestObject> ManifestObject::getObject(StringRef key) const {
  const json::Value *value = object.get(key);
  if (!value)
    return fail(at(key), "this field is missing"), std::nullopt;
  if (const json::Object *inner = value->getAsObject())
    return ManifestObject(*inner, at(key), error);
  return fail(at(key), "expected an object, got " + show(*value)), std::nullopt;
}

std::optional<ManifestObject>
ManifestObject::getObject(StringRef key, const json::Value &element,
                          size_t index) const {
  if (const json::Object *inner = element.getAsObject())
    return ManifestObject(*inner, at(key, index), error);
  return fail(at(key, index), "expected an object, got " + show(element)),
         std::nullopt;
}
