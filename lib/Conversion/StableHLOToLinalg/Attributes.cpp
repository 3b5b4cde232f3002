//===- Attributes.cpp - Attributes of unregistered operations -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

InFlightDiagnostic stablehlo::refuse(Operation *op) {
  return op->emitError() << "'" << op->getName() << "' ";
}

FailureOr<SmallVector<int64_t>> stablehlo::readIntegers(Operation *op,
                                                        StringRef name) {
  Attribute attribute = op->getAttr(name);
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return llvm::to_vector(array.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attribute))
    return llvm::map_to_vector(dense.getValues<APInt>(),
                               [](const APInt &n) { return n.getSExtValue(); });
  InFlightDiagnostic error = refuse(op) << "has ";
  if (attribute)
    error << "'" << name << "' = " << attribute;
  else
    error << "no attribute '" << name << "'";
  return error << ", expected array<i64: ...>";
}

FailureOr<int64_t> stablehlo::readInteger(Operation *op, StringRef name) {
  Attribute attribute = op->getAttr(name);
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute))
    return integer.getInt();
  InFlightDiagnostic error = refuse(op) << "has ";
  if (attribute)
    error << "'" << name << "' = " << attribute;
  else
    error << "no attribute '" << name << "'";
  return error << ", expected an integer";
}

StringRef stablehlo::readEnumerator(Operation *op, StringRef name) {
  if (auto opaque = op->getAttrOfType<OpaqueAttr>(name))
    return opaque.getAttrData().split(' ').second.trim(" >");
  return "";
}

Fields::Fields(Operation *op, StringRef name) : op(op), name(name) {
  auto opaque = op->getAttrOfType<OpaqueAttr>(name);
  present = op->hasAttr(name);
  // The text begins with the attribute's own name.
  if (opaque)
    text = opaque.getAttrData().split('<').second;
}

StringRef Fields::get(StringRef key) const {
  StringRef rest = text;
  while (!rest.empty()) {
    auto [left, right] = rest.split('=');
    right = right.ltrim();
    size_t end =
        right.starts_with("[") ? right.find(']') : right.find_first_of(",>");
    if (left.trim(", ") == key)
      return right.take_front(end).trim("[ ");
    rest = right.drop_front(std::min(end, right.size())).ltrim("], ");
  }
  return "";
}

FailureOr<SmallVector<int64_t>> Fields::getIntegers(StringRef key) const {
  SmallVector<StringRef> words;
  get(key).split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  SmallVector<int64_t> numbers;
  for (StringRef word : words)
    if (word.trim().getAsInteger(10, numbers.emplace_back()))
      return refuse(op) << "has '" << word << "' in field '" << key << "' of '"
                        << name << "', expected an integer";
  return numbers;
}
