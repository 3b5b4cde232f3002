//===- Exponentials.cpp - Exponentials, logarithms, tanh, erf -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands exp, log, tanh, erf and their relatives in f32 arithmetic, without
// libdevice: reduce the argument, evaluate a polynomial, scale by a power of
// two. `Exponential` and `Logarithm` are the two reductions; read them first.
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

static constexpr float infinity = std::numeric_limits<float>::infinity();

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, which then
// stands in the low bits of the sum.
static constexpr float roundingShift = 12582912.0f;
static constexpr int32_t roundingShiftBits = 0x4b400000;

/// 2^k for k from -126 to 127.
static Value power(FloatArithmetic &a, Value k) {
  return a.fromBits(a.shiftLeft(a.add(k, a.number(127)), 23));
}

/// p 2^(n + offset) for p near 1, rounded once, n being in the low bits of
/// `shifted`: by two factors, as 2^n may be no normal number.
static Value scale(FloatArithmetic &a, Value p, Value shifted,
                   int32_t offset = 0) {
  Value n = a.sub(a.bits(shifted), a.number(roundingShiftBits - offset));
  Value half = a.shiftRightSigned(n, 1);
  return a.mul(a.mul(p, power(a, half)), power(a, a.sub(n, half)));
}

namespace {
/// exp(x) = (1 + tail) 2^n, n in the low bits of `shifted`.
struct Exponential {
  Value shifted, tail;

  Exponential(FloatArithmetic &a, Value x) {
    shifted = a.fma(x, a.number(1.44269504088896341f), a.number(roundingShift));
    Value n = a.sub(shifted, a.number(roundingShift));
    // ln 2 in two parts; the first has few bits, so n times it is exact.
    Value r = a.fma(n, a.number(-0.693145751953125f), x);
    r = a.fma(n, a.number(-1.42860682030941723e-6f), r);
    // exp(r) = 1 + r + r^2 q(r)
    Value q = a.polynomial(r, {0.00138209993f, 0.00836867094f, 0.0416682623f,
                               0.166665211f, 0.49999994f});
    tail = a.fma(a.mul(r, r), q, r);
  }
};
} // namespace

Value mlir::fa::expandExp(FloatArithmetic &a, Value x) {
  Exponential e(a, a.clamp(x, -105.0f, 89.5f));
  return scale(a, a.add(e.tail, a.number(1.0f)), e.shifted);
}

Value mlir::fa::expandHalfExp(FloatArithmetic &a, Value x) {
  Exponential e(a, a.clamp(x, -105.0f, 90.5f));
  return scale(a, a.add(e.tail, a.number(1.0f)), e.shifted, /*offset=*/-1);
}

Value mlir::fa::expandExpM1(FloatArithmetic &a, Value x) {
  Exponential e(a, a.clamp(x, -25.0f, 88.9f));
  // exp(x) - 1 = 2^n tail + (2^n - 1), of which a half is never too large. For
  // small arguments n is zero.
  Value n = a.sub(a.bits(e.shifted), a.number(roundingShiftBits));
  Value half = power(a, a.sub(n, a.number(int32_t(1))));
  Value far = a.fma(half, e.tail, a.sub(half, a.number(0.5f)));
  Value isNear = a.less(a.abs(x), a.number(0.25f));
  return a.copySign(a.select(isNear, e.tail, a.add(far, far)), x);
}

Value mlir::fa::expandExp2(FloatArithmetic &a, Value x) {
  x = a.clamp(x, -151.0f, 129.0f);
  Value shifted = a.add(x, a.number(roundingShift));
  Value r = a.sub(x, a.sub(shifted, a.number(roundingShift)));
  // 2^r = 1 + r q(r)
  Value q = a.polynomial(r, {0.00015329264f, 0.00133909693f, 0.00961849932f,
                             0.0555035956f, 0.240226477f, 0.693147182f});
  return scale(a, a.fma(r, q, a.number(1.0f)), shifted);
}

namespace {
/// x = 2^n (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), and
/// log(1 + f) = f + correction.
struct Logarithm {
  Value n, f, correction;

  Logarithm(FloatArithmetic &a, Value x) {
    // Subnormal numbers are brought into the normal range first.
    Value small = a.less(x, a.number(std::numeric_limits<float>::min()));
    Value raw = a.bits(a.select(small, a.mul(x, a.number(8388608.0f)), x));
    n = a.toReal(a.sub(a.shiftRight(raw, 23), a.number(126)));
    n = a.select(small, a.sub(n, a.number(23.0f)), n);
    // The mantissa as a number in [0.5, 1).
    Value m = a.fromBits(a.bitOr(a.bitAnd(raw, 0x007fffff), 0x3f000000));
    Value low = a.less(m, a.number(0.707106781186547524f));
    n = a.select(low, a.sub(n, a.number(1.0f)), n);
    f = a.sub(a.select(low, a.add(m, m), m), a.number(1.0f));
    Value p = a.polynomial(f, {0.0674987212f, -0.116709635f, 0.118837334f,
                               -0.1240611f, 0.142203212f, -0.166679934f,
                               0.20002073f, -0.250000089f, 0.333333135f});
    Value square = a.mul(f, f);
    correction = a.fma(a.mul(f, square), p, a.mul(square, a.number(-0.5f)));
  }

  /// The result where it is no finite number, else `result`.
  static Value finish(FloatArithmetic &a, Value x, Value result) {
    result = a.select(a.equal(x, a.number(infinity)), x, result);
    result = a.select(a.equal(x, a.number(0.0f)), a.number(-infinity), result);
    Value valid = a.equal(a.abs(x), x);
    return a.select(valid, result,
                    a.number(std::numeric_limits<float>::quiet_NaN()));
  }
};
} // namespace

Value mlir::fa::expandLog(FloatArithmetic &a, Value x) {
  Logarithm log(a, x);
  Value low = a.fma(log.n, a.number(1.42860682030941723e-6f), log.correction);
  Value result = a.fma(log.n, a.number(0.693145751953125f), a.add(log.f, low));
  return Logarithm::finish(a, x, result);
}

Value mlir::fa::expandLog2(FloatArithmetic &a, Value x) {
  Logarithm log(a, x);
  // log2(1 + f) = high + low, with 1 / ln 2 in two parts.
  Value factor = a.number(1.44269502f);
  Value high = a.mul(log.f, factor);
  Value low = a.fma(log.f, factor, a.sub(a.number(-0.0f), high));
  low = a.fma(log.f, a.number(1.92596299e-8f), low);
  low = a.fma(log.correction, factor, low);
  // n + high exactly, as a sum and its error.
  Value sum = a.add(log.n, high);
  Value error = a.add(a.sub(log.n, sum), high);
  return Logarithm::finish(a, x, a.add(sum, a.add(error, low)));
}

Value mlir::fa::expandLog10(FloatArithmetic &a, Value x) {
  Logarithm log(a, x);
  // log10(1 + f) = high + low, with 1 / ln 10 in two parts.
  Value factor = a.number(0.434294492f);
  Value high = a.mul(log.f, factor);
  Value low = a.fma(log.f, factor, a.sub(a.number(-0.0f), high));
  low = a.fma(log.f, a.number(-1.01030501e-8f), low);
  low = a.fma(log.correction, factor, low);
  // log10(2) in two parts; the first has few bits, so n times it is exact.
  Value whole = a.mul(log.n, a.number(0.301025390625f));
  low = a.fma(log.n, a.number(4.60503907e-6f), low);
  Value sum = a.add(whole, high);
  Value error = a.add(a.sub(whole, sum), high);
  return Logarithm::finish(a, x, a.add(sum, a.add(error, low)));
}

Value mlir::fa::expandLog1p(FloatArithmetic &a, Value x) {
  // log(1 + x) = log(sum) + rest / sum, 1 + x being sum + rest.
  Value one = a.number(1.0f), sum = a.add(one, x);
  Value rest = a.sub(x, a.sub(sum, one));
  Logarithm log(a, sum);
  Value low = a.add(log.correction, a.div(rest, sum));
  low = a.fma(log.n, a.number(1.42860682030941723e-6f), low);
  Value result = a.fma(log.n, a.number(0.693145751953125f), a.add(log.f, low));
  return a.copySign(Logarithm::finish(a, sum, result), x);
}

Value mlir::fa::chooseTanh(FloatArithmetic &a, Value x, Value far) {
  Value size = a.abs(x), square = a.mul(x, x);
  Value p = a.polynomial(square, {-0.00569802988f, 0.020632321f, -0.0537374355f,
                                  0.133314118f, -0.333332807f});
  Value near = a.fma(a.mul(p, square), size, size);
  return a.copySign(a.select(a.less(size, a.number(0.625f)), near, far), x);
}

Value mlir::fa::expandTanh(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), one = a.number(1.0f);
  Value power = expandExp(a, a.add(size, size));
  return chooseTanh(a, x, a.sub(one, a.div(a.number(2.0f), a.add(power, one))));
}

Value mlir::fa::expandErf(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), square = a.mul(x, x);
  // erf(x) / x - 1 near zero, log(1 - erf(x)) elsewhere; past 4 it rounds to 1.
  Value p = a.polynomial(square, {8.40972498e-05f, -0.000814819126f,
                                  0.00520105846f, -0.0268591419f, 0.11283683f,
                                  -0.376126319f, 0.128379166f});
  Value near = a.fma(p, size, size);
  Value q = a.polynomial(a.clamp(size, 0.0f, 4.0f),
                         {0.000198227513f, -0.00306557026f, 0.022315532f,
                          -0.104114316f, -0.636975408f, -1.1277976f,
                          -0.000166371276f});
  Value far = a.sub(a.number(1.0f), expandExp(a, q));
  return a.copySign(a.select(a.less(size, a.number(0.9f)), near, far), x);
}

Value mlir::fa::expandErfc(FloatArithmetic &a, Value x) {
  // For large x exp(-x^2) g(x), the square as a sum of two numbers.
  Value size = a.clamp(a.abs(x), 0.0f, 10.2f);
  Value square = a.mul(size, size);
  Value rest = a.fma(size, size, a.sub(a.number(-0.0f), square));
  // g(x) itself up to 2, x g(x) in powers of 1 / x^2 from there on.
  Value middle =
      a.polynomial(a.sub(size, a.number(1.25f)),
                   {-0.000185591853f, 0.000559246691f, -0.00131768594f,
                    0.00350910705f, -0.00908197369f, 0.0220204554f,
                    -0.0502184741f, 0.106794924f, -0.208821863f, 0.367822915f});
  Value inverse = a.div(a.number(1.0f), size);
  Value tail =
      a.polynomial(a.mul(inverse, inverse),
                   {-9.5405159f, 12.1108809f, -7.1736474f, 2.85961652f,
                    -1.00889945f, 0.421497881f, -0.282067806f, 0.564189434f});
  Value isMiddle = a.less(size, a.number(2.0f));
  Value g = a.select(isMiddle, middle, a.mul(tail, inverse));
  g = a.fma(a.sub(a.number(-0.0f), rest), g, g);
  Value far = a.mul(expandExp(a, a.sub(a.number(-0.0f), square)), g);
  Value near = a.sub(a.number(1.0f), expandErf(a, x));
  return a.select(a.less(a.number(0.5f), x), far, near);
}
