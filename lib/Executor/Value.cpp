//===- Value.cpp - Run-time values of the executor ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers and arrays of the executor (Value.h): integers wrap to their width,
// floats round to their format, arrays are strided views of a storage. The
// copies at the end go row by row; `forEachRow` is what they share.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/Value.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

char Object::ID;
char Array::ID;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

int64_t executor::wrapInteger(int64_t value, unsigned width) {
  if (width >= 64)
    return value;
  if (width == 1)
    return value & 1;
  return llvm::SignExtend64(static_cast<uint64_t>(value), width);
}

int64_t executor::asSigned(int64_t stored, unsigned width) {
  return width == 1 ? -stored : stored;
}

uint64_t executor::asUnsigned(int64_t stored, unsigned width) {
  return static_cast<uint64_t>(stored) &
         llvm::maskTrailingOnes<uint64_t>(width);
}

double executor::roundToFloat(double value,
                              const llvm::fltSemantics &semantics) {
  if (&semantics == &llvm::APFloat::IEEEdouble())
    return value;
  if (&semantics == &llvm::APFloat::IEEEsingle())
    return static_cast<float>(value);
  APFloat number(value);
  bool losesInfo;
  number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

uint64_t executor::floatToBits(double value,
                               const llvm::fltSemantics &semantics) {
  APFloat number(value);
  bool losesInfo;
  number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

double executor::floatFromBits(uint64_t bits,
                               const llvm::fltSemantics &semantics) {
  unsigned width = APFloat::getSizeInBits(semantics);
  APFloat number(semantics, APInt(width, bits, /*isSigned=*/false,
                                  /*implicitTrunc=*/true));
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

bool executor::isSlotType(Type type) {
  if (isa<IndexType>(type))
    return true;
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() >= 1 && integer.getWidth() <= 64;
  auto real = dyn_cast<FloatType>(type);
  return real && real.getWidth() <= 64;
}

unsigned executor::getIntegerWidth(Type type) {
  return isa<IndexType>(type) ? 64 : cast<IntegerType>(type).getWidth();
}

Slot executor::getSlot(TypedAttr attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute)) {
    APFloat value = real.getValue();
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return Slot::ofReal(value.convertToDouble());
  }
  APInt value = cast<IntegerAttr>(attribute).getValue();
  return Slot::ofInteger(
      wrapInteger(value.sextOrTrunc(64).getSExtValue(), value.getBitWidth()));
}

Slot executor::getPoison(Type elementType) {
  if (isa<FloatType>(elementType))
    return Slot::ofReal(std::numeric_limits<double>::quiet_NaN());
  unsigned width = getIntegerWidth(elementType);
  return Slot::ofInteger(
      wrapInteger(static_cast<int64_t>(uint64_t(1) << (width - 1)), width));
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

int64_t executor::getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

SmallVector<int64_t, 4> executor::getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * std::max<int64_t>(shape[i + 1], 1);
  return strides;
}

int64_t Array::getNumElements() const {
  return executor::getNumElements(shape);
}

bool Array::isContiguous() const {
  int64_t expected = 1;
  for (int64_t i = getRank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= std::max<int64_t>(shape[i], 1);
  }
  return true;
}

ArrayRefPtr executor::makeArray(ArrayRef<int64_t> shape) {
  ArrayRefPtr array(new Array());
  array->shape.assign(shape.begin(), shape.end());
  array->strides = getRowMajorStrides(shape);
  array->storage = new Storage(getNumElements(shape));
  return array;
}

ArrayRefPtr executor::makeFilledArray(ArrayRef<int64_t> shape, Slot value) {
  ArrayRefPtr array = makeArray(shape);
  std::fill_n(array->data(), array->getNumElements(), value);
  return array;
}

ArrayRefPtr executor::makeView(const Array &source, int64_t offset,
                               ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> strides) {
  ArrayRefPtr view(new Array());
  view->shape.assign(shape.begin(), shape.end());
  view->strides.assign(strides.begin(), strides.end());
  view->offset = offset;
  view->storage = source.storage;
  return view;
}

void executor::forEachRow(const Array &array,
                          llvm::function_ref<void(int64_t)> body) {
  int64_t rank = array.getRank();
  if (array.getNumElements() == 0)
    return;
  if (rank <= 1)
    return body(array.offset);
  SmallVector<int64_t, 4> index(rank - 1, 0);
  int64_t offset = array.offset;
  while (true) {
    body(offset);
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      offset += array.strides[dim];
      if (++index[dim] < array.shape[dim])
        break;
      offset -= array.strides[dim] * array.shape[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// Length and stride of an innermost row.
static std::pair<int64_t, int64_t> getRow(const Array &array) {
  if (array.getRank() == 0)
    return {1, 1};
  return {array.shape.back(), array.strides.back()};
}

/// Copies the elements of `source`, in row-major order, to `target`.
static void gatherElements(const Array &source, Slot *target) {
  if (source.isContiguous()) {
    std::copy_n(source.data(), source.getNumElements(), target);
    return;
  }
  auto [length, stride] = getRow(source);
  const Slot *base = source.storage->data();
  forEachRow(source, [&, length = length, stride = stride](int64_t offset) {
    for (int64_t i = 0; i < length; ++i)
      target[i] = base[offset + i * stride];
    target += length;
  });
}

static void scatterElements(const Slot *source, Array &target) {
  auto [length, stride] = getRow(target);
  Slot *base = target.storage->data();
  forEachRow(target, [&, length = length, stride = stride](int64_t offset) {
    for (int64_t i = 0; i < length; ++i)
      base[offset + i * stride] = source[i];
    source += length;
  });
}

ArrayRefPtr executor::copyArray(const Array &source) {
  ArrayRefPtr copy = makeArray(source.shape);
  gatherElements(source, copy->data());
  return copy;
}

ArrayRefPtr executor::packArray(ArrayRefPtr source) {
  return source->isContiguous() ? source : copyArray(*source);
}

void executor::copyElements(const Array &source, Array &target) {
  bool overlaps = source.storage == target.storage;
  if (!overlaps && source.isContiguous())
    return scatterElements(source.data(), target);
  if (!overlaps && target.isContiguous())
    return gatherElements(source, target.data());
  ArrayRefPtr packed = copyArray(source);
  scatterElements(packed->data(), target);
}

void executor::fillElements(Array &target, Slot value) {
  auto [length, stride] = getRow(target);
  Slot *base = target.storage->data();
  forEachRow(target, [&, length = length, stride = stride](int64_t offset) {
    for (int64_t i = 0; i < length; ++i)
      base[offset + i * stride] = value;
  });
}
