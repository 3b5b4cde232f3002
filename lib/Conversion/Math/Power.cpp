//===- Power.cpp - Powers of f32, by way of f64, and the cube root --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A power in f32 needs a logarithm of more than 32 bits, as its error is
// multiplied by the exponent; f64 has them. Special cases are those of IEEE
// 754.
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// log2 of a positive normal f64.
static Value logarithm(FloatArithmetic &d, Value x) {
  Value raw = d.bits(x);
  Value n = d.toReal(d.sub(d.shiftRight(raw, 52), d.number(1022)));
  Value m = d.fromBits(
      d.bitOr(d.bitAnd(raw, 0x000fffffffffffff), 0x3fe0000000000000));
  Value low = d.less(m, d.number(0.70710678118654752));
  Value one = d.number(1.0);
  n = d.select(low, d.sub(n, one), n);
  m = d.select(low, d.add(m, m), m);
  // log(m) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ..., s = (m - 1) / (m + 1)
  Value s = d.div(d.sub(m, one), d.add(m, one));
  Value square = d.mul(s, s);
  Value series =
      d.polynomial(square, {2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,
                            2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
  return d.fma(d.mul(s, series), d.number(1.44269504088896341), n);
}

/// 2^t for |t| up to 1000.
static Value power(FloatArithmetic &d, Value t) {
  // 1.5 * 2^52, which rounds to an integer in the low bits.
  Value shift = d.number(6755399441055744.0);
  Value shifted = d.add(t, shift);
  Value r =
      d.mul(d.sub(t, d.sub(shifted, shift)), d.number(0.693147180559945309));
  Value p =
      d.polynomial(r, {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                       1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0});
  return d.fromBits(d.add(d.bits(p), d.shiftLeft(d.bits(shifted), 52)));
}

/// size^y for a size that is not negative; NaN is anything.
static Value powerOfSize(FloatArithmetic &a, FloatArithmetic &d, Value size,
                         Value y) {
  Value isZero = a.equal(size, a.number(0.0f));
  Value isInfinite = a.equal(size, a.number(infinity));
  // The exponent t of 2. It is zero where the size is 1, even if y is infinite.
  Value log = logarithm(d, d.extendReal(size));
  log = a.select(isZero, d.number(-double(infinity)), log);
  log = a.select(isInfinite, d.number(double(infinity)), log);
  Value t = d.mul(y, log);
  t = a.select(a.equal(size, a.number(1.0f)), d.number(0.0), t);
  t = d.clamp(t, -200.0f, 200.0f);
  return a.truncateReal(power(d, t));
}

Value mlir::fa::expandPower(FloatArithmetic &a, Value x, Value y) {
  FloatArithmetic d = a.withElement(Float64Type::get(x.getContext()));
  Value size = a.abs(x);
  Value zero = a.number(0.0f), one = a.number(1.0f);
  Value result = powerOfSize(a, d, size, d.extendReal(y));
  // A negative number has the powers of integers only, with a sign if odd.
  Value half = a.mul(y, a.number(0.5f));
  Value isInteger = a.equal(a.floor(y), y);
  Value isEven = a.equal(a.floor(half), half);
  Value isFinite = a.less(size, a.number(infinity));
  Value isOdd = a.butNot(isInteger, isEven);
  result =
      a.select(a.bothTrue(a.isNegative(x), isOdd), a.negate(result), result);
  Value isInvalid = a.butNot(a.bothTrue(a.less(x, zero), isFinite), isInteger);
  isInvalid = a.eitherTrue(isInvalid, a.eitherTrue(a.isNaN(x), a.isNaN(y)));
  result = a.select(isInvalid, a.number(notANumber), result);
  Value isOne = a.eitherTrue(a.equal(x, one), a.equal(y, zero));
  return a.select(isOne, one, result);
}

Value mlir::fa::expandIntegerPower(FloatArithmetic &a, Value x, Value n) {
  FloatArithmetic d = a.withElement(Float64Type::get(x.getContext()));
  Value exponent = d.toReal(n);
  Value result = powerOfSize(a, d, a.abs(x), exponent);
  // f64 does not hold the lowest bit of all exponents.
  result = a.select(a.isOdd(n), a.copySign(result, x), result);
  result = a.select(a.isNaN(x), a.number(notANumber), result);
  return a.select(d.equal(exponent, d.number(0.0)), a.number(1.0f), result);
}

Value mlir::fa::expandCbrt(FloatArithmetic &a, Value x) {
  Value size = a.abs(x);
  // To where third powers have all their bits: by 2^96 or 2^-96.
  Value isSmall = a.less(size, a.number(0x1p-64f));
  Value isLarge = a.less(a.number(0x1p96f), size);
  Value one = a.number(1.0f);
  Value factor = a.select(isLarge, a.number(0x1p-96f), one);
  factor = a.select(isSmall, a.number(0x1p96f), factor);
  Value scaled = a.mul(size, factor);
  // A third of the exponent, and of the mantissa with it: within 4 %.
  Value third = a.mul(a.toReal(a.bits(scaled)), a.number(0.333333333f));
  Value root =
      a.fromBits(a.add(a.toInteger(third), a.number(int32_t(0x2a510db8))));
  // Two steps of E. Halley's method, whose error is the third power of the
  // one before.
  for (int step = 0; step < 2; ++step) {
    Value square = a.mul(root, root);
    Value rest = a.fma(square, root, a.sub(a.number(-0.0f), scaled));
    Value slope = a.fma(a.add(square, square), root, scaled);
    root = a.fma(a.sub(a.number(-0.0f), root), a.div(rest, slope), root);
  }
  factor = a.select(isLarge, a.number(0x1p32f), one);
  factor = a.select(isSmall, a.number(0x1p-32f), factor);
  root = a.mul(root, factor);
  Value isExact = a.eitherTrue(a.equal(size, a.number(0.0f)),
                               a.equal(size, a.number(infinity)));
  return a.copySign(a.select(isExact, size, root), x);
}
