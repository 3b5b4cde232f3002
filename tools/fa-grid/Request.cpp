//===- Request.cpp - Problems as they arrive ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Request.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

SmallVector<Operand> Problem::getAll() const {
  SmallVector<Operand> all(arguments);
  llvm::append_range(all, results);
  return all;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getNumbers(const llvm::json::Object &object,
                                       StringRef key) {
  SmallVector<int64_t> numbers;
  if (const llvm::json::Array *array = object.getArray(key))
    for (const llvm::json::Value &value : *array)
      numbers.push_back(value.getAsInteger().value_or(0));
  return numbers;
}

static Operand readOperand(const llvm::json::Object &object, Type type) {
  Operand operand;
  operand.elementType = getElementTypeOrSelf(type);
  operand.isShaped = isa<ShapedType>(type);
  if (operand.isShaped)
    operand.view = {object.getInteger("offset").value_or(0),
                    getNumbers(object, "shape"), getNumbers(object, "strides")};
  else if (isa<FloatType>(type))
    operand.number = Slot::ofReal(object.getNumber("value").value_or(0));
  else
    operand.number = Slot::ofInteger(object.getInteger("value").value_or(0));
  return operand;
}

static bool readOperands(const llvm::json::Array *array, TypeRange types,
                         SmallVector<Operand> &operands) {
  if (!array || array->size() != types.size())
    return false;
  for (auto [value, type] : llvm::zip_equal(*array, types)) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object)
      return false;
    operands.push_back(readOperand(*object, type));
  }
  return true;
}

std::optional<Problem> fa::readProblem(const llvm::json::Object &request,
                                       FunctionType type) {
  Problem problem;
  if (!readOperands(request.getArray("arguments"), type.getInputs(),
                    problem.arguments) ||
      !readOperands(request.getArray("results"), type.getResults(),
                    problem.results))
    return std::nullopt;
  return problem;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

int64_t fa::getElementSize(Type type) {
  return type.getIntOrFloatBitWidth() / 8;
}

static Slot loadElement(const char *address, Type type) {
  uint64_t bits = 0;
  std::memcpy(&bits, address, getElementSize(type));
  if (auto real = dyn_cast<FloatType>(type))
    return Slot::ofReal(floatFromBits(bits, real.getFloatSemantics()));
  return Slot::ofInteger(wrapInteger(bits, type.getIntOrFloatBitWidth()));
}

static void storeElement(char *address, Type type, Slot value) {
  uint64_t bits = value.integer;
  if (auto real = dyn_cast<FloatType>(type))
    bits = floatToBits(value.real, real.getFloatSemantics());
  std::memcpy(address, &bits, getElementSize(type));
}

/// Elements from the first to the last of a view, with those between.
static int64_t getSpan(const View &view) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(view.shape, view.strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

ArrayRefPtr fa::loadArray(const char *data, const Operand &operand) {
  const View &view = operand.view;
  int64_t size = getElementSize(operand.elementType), span = getSpan(view);
  ArrayRefPtr whole = makeArray(span);
  for (int64_t i = 0; i < span; ++i)
    whole->data()[i] =
        loadElement(data + view.offset + i * size, operand.elementType);
  return makeView(*whole, 0, view.shape, view.strides);
}

void fa::storeChanges(char *data, const Operand &operand, const Array &array) {
  int64_t size = getElementSize(operand.elementType);
  for (int64_t i = 0, e = getSpan(operand.view); i < e; ++i) {
    char *address = data + operand.view.offset + i * size;
    // A NaN would come back with other bits.
    Slot before = loadElement(address, operand.elementType);
    if (std::memcmp(&before, &array.data()[i], sizeof(Slot)) != 0)
      storeElement(address, operand.elementType, array.data()[i]);
  }
}
