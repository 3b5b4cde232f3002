//===- Hyperbolics.cpp - sinh, cosh and the inverse functions -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

Value mlir::fa::expandSinh(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), square = a.mul(x, x);
  // x + x^3 / 3! + x^5 / 5! + ...
  Value series =
      a.polynomial(square, {2.50521084e-8f, 2.75573192e-6f, 1.98412698e-4f,
                            8.33333333e-3f, 1.66666667e-1f});
  Value near = a.fma(a.mul(series, square), size, size);
  Value half = expandHalfExp(a, size);
  Value far = a.sub(half, a.div(a.number(0.25f), half));
  return a.copySign(a.select(a.less(size, a.number(1.0f)), near, far), x);
}

Value mlir::fa::expandCosh(FloatArithmetic &a, Value x) {
  Value half = expandHalfExp(a, a.abs(x));
  return a.add(half, a.div(a.number(0.25f), half));
}

/// log(1 + t), or log(2 (1 + t)) where `twice` is true.
static Value logarithm(FloatArithmetic &a, Value t, Value twice) {
  Value log = expandLog1p(a, t);
  return a.select(twice, a.add(log, a.number(0.693147181f)), log);
}

/// From here on x + sqrt(x^2 + 1), and with -1 too, is 2 x.
static constexpr float large = 8192.0f;

Value mlir::fa::expandAsinh(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), square = a.mul(size, size), one = a.number(1.0f);
  Value isLarge = a.less(a.number(large), size);
  Value root = a.sqrt(a.add(square, one));
  // x + sqrt(x^2 + 1) = 1 + x + x^2 / (1 + sqrt(x^2 + 1))
  Value t = a.add(size, a.div(square, a.add(root, one)));
  t = a.select(isLarge, a.sub(size, one), t);
  return a.copySign(logarithm(a, t, isLarge), x);
}

Value mlir::fa::expandAcosh(FloatArithmetic &a, Value x) {
  Value one = a.number(1.0f), t = a.sub(x, one);
  Value isLarge = a.less(a.number(large), x);
  // x + sqrt(x^2 - 1) = 1 + t + sqrt(2 t + t^2), t = x - 1
  Value root = a.sqrt(a.fma(t, t, a.add(t, t)));
  Value result = logarithm(a, a.select(isLarge, t, a.add(t, root)), isLarge);
  return a.select(a.less(x, one),
                  a.number(std::numeric_limits<float>::quiet_NaN()), result);
}

Value mlir::fa::expandAtanh(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), rest = a.sub(a.number(1.0f), size);
  // (1 + x) / (1 - x) = 1 + 2 x / (1 - x)
  Value log = expandLog1p(a, a.div(a.add(size, size), rest));
  return a.copySign(a.mul(log, a.number(0.5f)), x);
}
