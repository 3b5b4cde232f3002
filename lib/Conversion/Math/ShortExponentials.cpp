//===- ShortExponentials.cpp - Exponentials of few operations -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Polynomials for f32 after range reduction; the errors named here hold over
// all finite inputs and are measured by the unit tests. Coefficients: those of
// exp fitted for the largest relative error, those of exp2 the Taylor series,
// those of log and tanh from S. L. Moshier, Methods and Programs for
// Mathematical Functions, 1989.
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, which then
// stands in the low bits of the sum.
static constexpr float roundingShift = 12582912.0f;

/// 2^(n - 1) where `shifted` is n + roundingShift, for n from -126 to 128; zero
/// for -126. Half of 2^n, so that 2^128 has a finite factor.
static Value halfPower(FloatArithmetic &a, Value shifted) {
  Value exponent = a.shiftLeft(a.bits(shifted), 23);
  return a.fromBits(a.add(exponent, a.number(126 << 23)));
}

/// exp(x), relative error below 1e-7; 0 below -86.99.
Value mlir::fa::expandShortExp(FloatArithmetic &a, Value x) {
  // exp(89) is past the largest f32, and n is -126 at the lower end.
  x = a.clamp(x, -87.3f, 89.0f);
  Value shifted =
      a.fma(x, a.number(1.44269504088896341f), a.number(roundingShift));
  Value n = a.sub(shifted, a.number(roundingShift));
  // ln 2 in two parts; the first has few bits, so n times it is exact.
  Value r = a.fma(n, a.number(-0.693145751953125f), x);
  r = a.fma(n, a.number(-1.42860682030941723e-6f), r);
  // 2 exp(r) = 2 + 2 r + r^2 q(r), q fitted with an error of 3e-9.
  Value q = a.polynomial(r, {2.76293233e-3f, 1.67374983e-2f, 8.33367780e-2f,
                             3.33330393e-1f, 0.99999988f});
  Value tail = a.fma(a.mul(r, r), q, a.add(r, r));
  return a.mul(a.add(tail, a.number(2.0f)), halfPower(a, shifted));
}

/// 2^x, relative error below 1e-7; 0 below -125.5.
Value mlir::fa::expandShortExp2(FloatArithmetic &a, Value x) {
  x = a.clamp(x, -126.0f, 128.5f);
  Value shifted = a.add(x, a.number(roundingShift));
  Value r = a.sub(x, a.sub(shifted, a.number(roundingShift)));
  // 2^(r + 1) = 2 + r q(r), coefficients 2 (ln 2)^k / k!
  Value q = a.polynomial(r, {3.0509e-5f, 3.0807060e-4f, 2.66671629e-3f,
                             1.92362582e-2f, 1.11008266e-1f, 4.80453014e-1f,
                             1.38629436f});
  return a.mul(a.fma(r, q, a.number(2.0f)), halfPower(a, shifted));
}

/// log(x), error below 1e-7 relative to the larger of |log x| and 1e-7.
Value mlir::fa::expandShortLog(FloatArithmetic &a, Value x) {
  // Subnormal numbers are brought into the normal range first.
  Value small = a.less(x, a.number(1.17549435e-38f));
  Value scaled = a.select(small, a.mul(x, a.number(8388608.0f)), x);
  Value raw = a.bits(scaled);
  Value exponent = a.sub(a.shiftRight(raw, 23), a.number(126));
  Value n = a.toReal(exponent);
  n = a.select(small, a.sub(n, a.number(23.0f)), n);
  // The mantissa as a number in [0.5, 1), then in [sqrt(1/2), sqrt(2)).
  Value m = a.fromBits(a.bitOr(a.bitAnd(raw, 0x007fffff), 0x3f000000));
  Value low = a.less(m, a.number(0.707106781186547524f));
  n = a.select(low, a.sub(n, a.number(1.0f)), n);
  Value f = a.sub(a.select(low, a.add(m, m), m), a.number(1.0f));
  Value square = a.mul(f, f);
  Value p =
      a.polynomial(f, {7.0376836292E-2f, -1.1514610310E-1f, 1.1676998740E-1f,
                       -1.2420140846E-1f, 1.4249322787E-1f, -1.6668057665E-1f,
                       2.0000714765E-1f, -2.4999993993E-1f, 3.3333331174E-1f});
  Value y = a.mul(a.mul(p, f), square);
  y = a.fma(n, a.number(-2.12194440e-4f), y);
  y = a.fma(square, a.number(-0.5f), y);
  Value result = a.fma(n, a.number(0.693359375f), a.add(f, y));
  float infinity = std::numeric_limits<float>::infinity();
  result = a.select(a.equal(x, a.number(infinity)), x, result);
  result = a.select(a.equal(x, a.number(0.0f)), a.number(-infinity), result);
  // NaN for negative numbers and for NaN.
  Value valid = a.equal(a.abs(x), x);
  return a.select(valid, result,
                  a.number(std::numeric_limits<float>::quiet_NaN()));
}

/// tanh(x), relative error below 3e-7.
Value mlir::fa::expandShortTanh(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), square = a.mul(x, x);
  Value p = a.polynomial(square, {-5.70498872745E-3f, 2.06390887954E-2f,
                                  -5.37397155531E-2f, 1.33314422036E-1f,
                                  -3.33332819422E-1f});
  Value near = a.fma(a.mul(p, square), x, x);
  Value power = expandShortExp(a, a.add(size, size));
  Value one = a.number(1.0f);
  Value far = a.sub(one, a.div(a.number(2.0f), a.add(power, one)));
  return a.select(a.less(size, a.number(0.625f)), near, a.copySign(far, x));
}
