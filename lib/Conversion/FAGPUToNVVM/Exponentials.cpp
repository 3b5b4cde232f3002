//===- Exponentials.cpp - exp, exp2, log, log2, tanh, erf -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fagpu;
using fa::FloatArithmetic;

static constexpr float infinity = std::numeric_limits<float>::infinity();

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, which then
// stands in the low bits of the sum.
static constexpr float roundingShift = 12582912.0f;
static constexpr int32_t roundingShiftBits = 0x4b400000;

/// 2^k for k from -126 to 127.
static Value power(FloatArithmetic &a, Value k) {
  return a.fromBits(a.shiftLeft(a.add(k, a.number(127)), 23));
}

/// p 2^n for p near 1, rounded once, n being in the low bits of `shifted`: by
/// two factors, as 2^n may be no normal number.
static Value scale(FloatArithmetic &a, Value p, Value shifted) {
  Value n = a.sub(a.bits(shifted), a.number(roundingShiftBits));
  Value half = a.shiftRightSigned(n, 1);
  return a.mul(a.mul(p, power(a, half)), power(a, a.sub(n, half)));
}

Value mlir::fagpu::expandExp(FloatArithmetic &a, Value x) {
  x = a.clamp(x, -105.0f, 89.5f);
  Value shifted =
      a.fma(x, a.number(1.44269504088896341f), a.number(roundingShift));
  Value n = a.sub(shifted, a.number(roundingShift));
  // ln 2 in two parts; the first has few bits, so n times it is exact.
  Value r = a.fma(n, a.number(-0.693145751953125f), x);
  r = a.fma(n, a.number(-1.42860682030941723e-6f), r);
  // exp(r) = 1 + r + r^2 q(r)
  Value q = a.polynomial(r, {0.00138209993f, 0.00836867094f, 0.0416682623f,
                             0.166665211f, 0.49999994f});
  Value p = a.add(a.fma(a.mul(r, r), q, r), a.number(1.0f));
  return scale(a, p, shifted);
}

Value mlir::fagpu::expandExp2(FloatArithmetic &a, Value x) {
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

Value mlir::fagpu::expandLog(FloatArithmetic &a, Value x) {
  Logarithm log(a, x);
  Value low = a.fma(log.n, a.number(1.42860682030941723e-6f), log.correction);
  Value result = a.fma(log.n, a.number(0.693145751953125f), a.add(log.f, low));
  return Logarithm::finish(a, x, result);
}

Value mlir::fagpu::expandLog2(FloatArithmetic &a, Value x) {
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

Value mlir::fagpu::chooseTanh(FloatArithmetic &a, Value x, Value far) {
  Value size = a.abs(x), square = a.mul(x, x);
  Value p = a.polynomial(square, {-0.00569802988f, 0.020632321f, -0.0537374355f,
                                  0.133314118f, -0.333332807f});
  Value near = a.fma(a.mul(p, square), size, size);
  return a.copySign(a.select(a.less(size, a.number(0.625f)), near, far), x);
}

Value mlir::fagpu::expandTanh(FloatArithmetic &a, Value x) {
  Value size = a.abs(x), one = a.number(1.0f);
  Value power = expandExp(a, a.add(size, size));
  return chooseTanh(a, x, a.sub(one, a.div(a.number(2.0f), a.add(power, one))));
}

Value mlir::fagpu::expandErf(FloatArithmetic &a, Value x) {
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
