//===- Trigonometry.cpp - sin, cos and tan for all arguments --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments are reduced with as many bits of 2 / pi as they need: M. H.
// Payne, R. N. Hanek, Radian reduction for trigonometric functions, 1983.
// Read `reduce`, then `SineAndCosine`, the polynomials on what is left.
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

namespace {
/// |x| = quadrant pi / 2 + rest, rest in [-pi/4, pi/4].
struct Reduced {
  Value quadrant, rest;
};
} // namespace

/// 96 bits of 2 / pi, from the bit of weight 2^-(position - 31) on, as three
/// 32-bit words in 64 bits each. Position is from 0 to 159.
static std::array<Value, 3> selectBits(FloatArithmetic &a,
                                       FloatArithmetic &wide, Value position) {
  // A word of zeros, then 2 / pi.
  static constexpr uint32_t words[] = {0,          0xa2f9836e, 0x4e441529,
                                       0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                       0x3c439041, 0xfe5163ab};
  SmallVector<Value> window;
  for (uint32_t word : words)
    window.push_back(a.number(static_cast<int32_t>(word)));
  // Drop words from the front, by each bit of the word number.
  Value number = a.shiftRight(position, 5);
  for (unsigned step : {4, 2, 1}) {
    Value drop = a.equalBits(a.bitAnd(number, step), a.number(int32_t(step)));
    size_t size = step == 4 ? 4 + 3 : step == 2 ? 4 + 1 : 4;
    SmallVector<Value> next;
    for (size_t i = 0; i < std::min(size, window.size()); ++i) {
      Value after =
          i + step < window.size() ? window[i + step] : a.number(int32_t(0));
      next.push_back(a.select(drop, after, window[i]));
    }
    window = std::move(next);
  }
  Value shift = wide.extend(a.bitAnd(position, 31));
  std::array<Value, 3> bits;
  for (unsigned i = 0; i < 3; ++i) {
    Value pair = wide.bitOrValue(wide.shiftLeft(wide.extend(window[i]), 32),
                                 wide.extend(window[i + 1]));
    bits[i] = wide.shiftRight(wide.shiftLeftBy(pair, shift), 32);
  }
  return bits;
}

static Reduced reduce(FloatArithmetic &a, Value size) {
  FloatArithmetic wide = a.withElement(Float64Type::get(size.getContext()));
  // size = mantissa 2^exponent
  Value raw = a.bits(size);
  Value exponent = a.sub(a.shiftRight(raw, 23), a.number(150));
  Value mantissa = wide.extend(a.bitOr(a.bitAnd(raw, 0x007fffff), 0x00800000));
  // What size 2 / pi is modulo 4, in units of 2^-62: of the product with 96
  // bits, those of weight 2 down to 2^-62.
  auto [high, middle, low] = selectBits(a, wide, a.add(exponent, a.number(30)));
  Value product = wide.shiftLeft(wide.mul(mantissa, high), 32);
  product = wide.add(product, wide.mul(mantissa, middle));
  product = wide.add(product, wide.shiftRight(wide.mul(mantissa, low), 32));
  // To the nearest multiple of pi / 2.
  Value quadrant =
      wide.shiftRight(wide.add(product, wide.number(int64_t(1) << 61)), 62);
  Value fraction = wide.sub(product, wide.shiftLeft(quadrant, 62));
  // fraction pi / 2, the fraction as a sum of two numbers.
  Value first = a.toReal(fraction);
  Value second = a.toReal(wide.sub(fraction, wide.toInteger(first)));
  Value factor = a.number(3.40612167e-19f);
  Value rest = a.fma(first, a.number(-9.47839643e-27f), a.mul(second, factor));
  rest = a.fma(first, factor, rest);
  // Near zero the argument itself is exact.
  Value near = a.less(size, a.number(0.785398163f));
  return {a.select(near, a.number(int32_t(0)), a.truncate(quadrant)),
          a.select(near, size, rest)};
}

namespace {
/// Sine and cosine of a number in [-pi/4, pi/4].
struct SineAndCosine {
  Value sin, cos;

  SineAndCosine(FloatArithmetic &a, Value rest) {
    Value square = a.mul(rest, rest);
    Value s = a.polynomial(square, {2.83271902e-06f, -0.000198530717f,
                                    0.0083333794f, -0.166666672f});
    sin = a.fma(a.mul(s, square), rest, rest);
    Value c =
        a.polynomial(square, {2.44325674e-05f, -0.00138873106f, 0.0416666456f});
    cos = a.fma(square, a.number(-0.5f), a.number(1.0f));
    cos = a.fma(a.mul(square, square), c, cos);
  }
};
} // namespace

static Value isOdd(FloatArithmetic &a, Value quadrant) {
  return a.equalBits(a.bitAnd(quadrant, 1), a.number(int32_t(1)));
}

/// The sine of rest + quadrant pi / 2, for finite numbers.
static Value sine(FloatArithmetic &a, Value rest, Value quadrant) {
  SineAndCosine of(a, rest);
  Value result = a.select(isOdd(a, quadrant), of.cos, of.sin);
  Value sign = a.shiftLeft(a.bitAnd(quadrant, 2), 30);
  return a.fromBits(a.bitXor(a.bits(result), sign));
}

/// NaN for infinity and NaN, else `result`.
static Value finish(FloatArithmetic &a, Value size, Value result) {
  Value finite = a.less(size, a.number(std::numeric_limits<float>::infinity()));
  return a.select(finite, result,
                  a.number(std::numeric_limits<float>::quiet_NaN()));
}

Value mlir::fa::expandSin(FloatArithmetic &a, Value x) {
  Value size = a.abs(x);
  Reduced reduced = reduce(a, size);
  Value result = sine(a, reduced.rest, reduced.quadrant);
  Value sign = a.bitAnd(a.bits(x), std::numeric_limits<int32_t>::min());
  result = a.fromBits(a.bitXor(a.bits(result), sign));
  return finish(a, size, result);
}

Value mlir::fa::expandCos(FloatArithmetic &a, Value x) {
  Value size = a.abs(x);
  Reduced reduced = reduce(a, size);
  Value next = a.add(reduced.quadrant, a.number(int32_t(1)));
  return finish(a, size, sine(a, reduced.rest, next));
}

Value mlir::fa::expandTan(FloatArithmetic &a, Value x) {
  Value size = a.abs(x);
  Reduced reduced = reduce(a, size);
  SineAndCosine of(a, reduced.rest);
  // In odd quadrants -cos / sin.
  Value odd = isOdd(a, reduced.quadrant);
  Value result = a.div(a.select(odd, of.cos, of.sin),
                       a.select(odd, a.negate(of.sin), of.cos));
  Value sign = a.bitAnd(a.bits(x), std::numeric_limits<int32_t>::min());
  result = a.fromBits(a.bitXor(a.bits(result), sign));
  return finish(a, size, result);
}
