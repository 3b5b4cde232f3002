//===- HostBuffer.cpp - Typed values of a program's interface -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An array of a program's interface, as bytes of its element type: the form
// that compiled code and files share. `get` and `set` convert one element to
// the executor's slot and back; fills, random inputs and text build on them.
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/HostBuffer.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <random>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

bool fa::isHostType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    return width == 1 || width == 8 || width == 16 || width == 32 ||
           width == 64;
  }
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         type.isIndex();
}

HostBuffer::HostBuffer(Type elementType, ArrayRef<int64_t> shape)
    : elementType(elementType), shape(shape),
      bytes(executor::getNumElements(shape) * getElementSize()) {}

unsigned HostBuffer::getElementSize() const {
  if (elementType.isIndex())
    return 8;
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T> static T load(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T> static void store(char *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

/// The upper half of an f32, rounded to nearest even; NaN stays NaN.
static uint16_t toBFloat16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static float fromBFloat16(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

Slot HostBuffer::get(int64_t i) const {
  const char *element = bytes.data() + i * getElementSize();
  if (elementType.isF32())
    return Slot::ofReal(load<float>(element));
  if (elementType.isF64())
    return Slot::ofReal(load<double>(element));
  if (elementType.isBF16())
    return Slot::ofReal(fromBFloat16(load<uint16_t>(element)));
  if (elementType.isF16())
    return Slot::ofReal(
        floatFromBits(load<uint16_t>(element), APFloat::IEEEhalf()));
  switch (getElementSize()) {
  case 1: {
    int64_t value = load<int8_t>(element);
    return Slot::ofInteger(elementType.isInteger(1) ? value & 1 : value);
  }
  case 2:
    return Slot::ofInteger(load<int16_t>(element));
  case 4:
    return Slot::ofInteger(load<int32_t>(element));
  default:
    return Slot::ofInteger(load<int64_t>(element));
  }
}

void HostBuffer::set(int64_t i, Slot value) {
  char *element = bytes.data() + i * getElementSize();
  if (elementType.isF32())
    return store(element, static_cast<float>(value.real));
  if (elementType.isF64())
    return store(element, value.real);
  if (elementType.isBF16())
    return store(element, toBFloat16(static_cast<float>(value.real)));
  if (elementType.isF16())
    return store(element, static_cast<uint16_t>(
                              floatToBits(value.real, APFloat::IEEEhalf())));
  switch (getElementSize()) {
  case 1:
    return store(element, static_cast<int8_t>(value.integer));
  case 2:
    return store(element, static_cast<int16_t>(value.integer));
  case 4:
    return store(element, static_cast<int32_t>(value.integer));
  default:
    return store(element, value.integer);
  }
}

void HostBuffer::fill(Slot value) {
  for (int64_t i = 0, e = getNumElements(); i < e; ++i)
    set(i, value);
}

void HostBuffer::fillRandom(uint64_t seed) {
  std::mt19937_64 engine(seed);
  int64_t count = getNumElements();
  if (isa<FloatType>(elementType)) {
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < count; ++i)
      set(i, Slot::ofReal(normal(engine)));
    return;
  }
  std::uniform_int_distribution<int64_t> uniform(
      0, elementType.isInteger(1) ? 1 : 15);
  for (int64_t i = 0; i < count; ++i)
    set(i, Slot::ofInteger(uniform(engine)));
}

void HostBuffer::poison() { fill(getPoison(elementType)); }

//===----------------------------------------------------------------------===//
// The executor's form
//===----------------------------------------------------------------------===//

RuntimeValue HostBuffer::toRuntime() const {
  ArrayRefPtr array = makeArray(shape);
  for (int64_t i = 0, e = getNumElements(); i < e; ++i)
    array->data()[i] = get(i);
  return array;
}

void HostBuffer::fromRuntime(const RuntimeValue &value) {
  ArrayRefPtr array = packArray(ArrayRefPtr(&value.array()));
  for (int64_t i = 0, e = getNumElements(); i < e; ++i)
    set(i, array->data()[i]);
}

std::string HostBuffer::getValuesText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto print = [&](int64_t i) {
    if (isa<FloatType>(elementType))
      stream << llvm::format("%.7g", get(i).real);
    else
      stream << get(i).integer;
  };
  if (shape.empty()) {
    print(0);
    return text;
  }
  stream << '[';
  for (int64_t i = 0, e = getNumElements(); i < e; ++i) {
    stream << (i ? ", " : "");
    print(i);
  }
  stream << ']';
  return text;
}

std::string HostBuffer::getTypeName() const {
  std::string name;
  llvm::raw_string_ostream stream(name);
  for (int64_t size : shape)
    stream << size << 'x';
  stream << elementType;
  return name;
}
