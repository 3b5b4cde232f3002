//===- KernelHelpers.h - Kernels from scalar functions ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_KERNELHELPERS_H
#define FA_LIB_EXECUTOR_KERNELHELPERS_H

#include "fa/Executor/Semantics.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

namespace mlir::fa::executor {

/// A kernel of one operand from `Slot fn(Slot)`.
template <typename Fn> Kernel makeUnary(Fn fn) {
  return [fn](ArrayRef<const Slot *> in, ArrayRef<Slot *> out, int64_t count) {
    const Slot *a = in[0];
    Slot *result = out[0];
    for (int64_t i = 0; i < count; ++i)
      result[i] = fn(a[i]);
    return success();
  };
}

template <typename Fn> Kernel makeBinary(Fn fn) {
  return [fn](ArrayRef<const Slot *> in, ArrayRef<Slot *> out, int64_t count) {
    const Slot *a = in[0], *b = in[1];
    Slot *result = out[0];
    for (int64_t i = 0; i < count; ++i)
      result[i] = fn(a[i], b[i]);
    return success();
  };
}

template <typename Fn> Kernel makeTernary(Fn fn) {
  return [fn](ArrayRef<const Slot *> in, ArrayRef<Slot *> out, int64_t count) {
    const Slot *a = in[0], *b = in[1], *c = in[2];
    Slot *result = out[0];
    for (int64_t i = 0; i < count; ++i)
      result[i] = fn(a[i], b[i], c[i]);
    return success();
  };
}

/// Kernels from functions of doubles.
template <typename Fn> Kernel makeRealUnary(Fn fn) {
  return makeUnary([fn](Slot a) { return Slot::ofReal(fn(a.real)); });
}
template <typename Fn> Kernel makeRealBinary(Fn fn) {
  return makeBinary(
      [fn](Slot a, Slot b) { return Slot::ofReal(fn(a.real, b.real)); });
}

/// a * b + c. A double holds the product of two floats of up to 32 bits, so
/// that only f64 needs the fused form, which is a call without hardware
/// support.
inline Kernel makeFusedMultiplyAdd(Type elementType) {
  if (elementType.isF64())
    return makeTernary([](Slot a, Slot b, Slot c) {
      return Slot::ofReal(std::fma(a.real, b.real, c.real));
    });
  return makeTernary([](Slot a, Slot b, Slot c) {
    return Slot::ofReal(a.real * b.real + c.real);
  });
}

/// The width of the integers that an operation works on, from its first
/// operand.
inline unsigned getOperandWidth(Operation *op) {
  return getIntegerWidth(getElementTypeOrSelf(op->getOperand(0).getType()));
}

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_KERNELHELPERS_H
