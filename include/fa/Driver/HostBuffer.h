//===- HostBuffer.h - Typed values of a program's interface -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_HOSTBUFFER_H
#define FA_DRIVER_HOSTBUFFER_H

#include "fa/Executor/Value.h"

namespace mlir::fa {

/// An argument or result as compiled code sees it: elements of a declared type,
/// row-major. A scalar has an empty shape.
struct HostBuffer {
  Type elementType;
  SmallVector<int64_t> shape;
  std::vector<char> bytes;

  HostBuffer() = default;
  HostBuffer(Type elementType, ArrayRef<int64_t> shape);

  int64_t getNumElements() const { return executor::getNumElements(shape); }
  /// Bytes of one element.
  unsigned getElementSize() const;

  /// Element `i` in the executor's form; floats come as they are stored.
  executor::Slot get(int64_t i) const;
  /// Stores a value, rounding to the element type.
  void set(int64_t i, executor::Slot value);
  void fill(executor::Slot value);
  /// Floats from the standard normal distribution, integers from 0 to 15.
  void fillRandom(uint64_t seed);
  /// NaN, or the most negative integer.
  void poison();

  /// Copies between this form and the executor's.
  executor::RuntimeValue toRuntime() const;
  void fromRuntime(const executor::RuntimeValue &value);

  /// All elements, row-major, as in `[1, 2.5]`; a scalar without brackets.
  std::string getValuesText() const;
  /// As in `2x8xf32`.
  std::string getTypeName() const;
};

/// True for float types up to 64 bits, index, i1 and integers of 8 to 64 bits.
bool isHostType(Type type);

} // namespace mlir::fa

#endif // FA_DRIVER_HOSTBUFFER_H
