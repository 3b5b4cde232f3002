//===- InverseTrigonometry.cpp - asin, acos, atan, atan2 ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

namespace {
/// A number in two parts.
struct Pair {
  float high, low;
};
} // namespace

static constexpr Pair quarterTurn{1.57079637f, -4.37113883e-8f};
static constexpr Pair halfTurn{3.14159274f, -8.74227766e-8f};

/// whole - x
static Value subtractFrom(FloatArithmetic &a, Pair whole, Value x) {
  return a.add(a.sub(a.number(whole.high), x), a.number(whole.low));
}

//===----------------------------------------------------------------------===//
// Arcs of ratios
//===----------------------------------------------------------------------===//

/// The angle of a ratio in [0, 1].
static Value angleOf(FloatArithmetic &a, Value ratio) {
  // Above tan(pi / 8) it is that of (ratio - 1) / (ratio + 1) and pi / 4.
  Value one = a.number(1.0f);
  Value isNear = a.less(ratio, a.number(0.414213562f));
  Value turned = a.div(a.sub(ratio, one), a.add(ratio, one));
  Value x = a.select(isNear, ratio, turned), square = a.mul(x, x);
  Value p = a.polynomial(square, {-0.060933575f, 0.106004082f, -0.142445385f,
                                  0.19998534f, -0.333333164f});
  Value tail = a.mul(p, square);
  Value near = a.fma(tail, x, x);
  Value far = a.add(a.fma(tail, x, a.number(-2.18556941e-8f)), x);
  return a.select(isNear, near, a.add(far, a.number(0.785398185f)));
}

/// The angle of a point whose coordinates are not negative.
static Value angleOf(FloatArithmetic &a, Value x, Value y) {
  Value isSteep = a.less(x, y);
  Value most = a.select(isSteep, y, x), least = a.select(isSteep, x, y);
  Value ratio = a.div(least, most);
  // Where both are zero or infinite.
  Value infinity = a.number(std::numeric_limits<float>::infinity());
  ratio = a.select(a.equal(most, a.number(0.0f)), least, ratio);
  ratio = a.select(a.equal(least, infinity), a.number(1.0f), ratio);
  Value angle = angleOf(a, ratio);
  return a.select(isSteep, subtractFrom(a, quarterTurn, angle), angle);
}

Value mlir::fa::expandAtan(FloatArithmetic &a, Value x) {
  return a.copySign(angleOf(a, a.number(1.0f), a.abs(x)), x);
}

Value mlir::fa::expandAtan2(FloatArithmetic &a, Value y, Value x) {
  Value angle = angleOf(a, a.abs(x), a.abs(y));
  angle = a.select(a.isNegative(x), subtractFrom(a, halfTurn, angle), angle);
  Value isInvalid = a.eitherTrue(a.isNaN(x), a.isNaN(y));
  Value notANumber = a.number(std::numeric_limits<float>::quiet_NaN());
  return a.select(isInvalid, notANumber, a.copySign(angle, y));
}

//===----------------------------------------------------------------------===//
// Arcs of sines
//===----------------------------------------------------------------------===//

namespace {
/// The arc of a sine up to 1/2, and of what a larger one is the cosine of: half
/// of the arc of a cosine x has the sine sqrt((1 - x) / 2).
struct Arc {
  Value isNear, arc;

  Arc(FloatArithmetic &a, Value size) {
    isNear = a.less(size, a.number(0.5f));
    Value half = a.fma(size, a.number(-0.5f), a.number(0.5f));
    Value square = a.select(isNear, a.mul(size, size), half);
    Value sine = a.select(isNear, size, a.sqrt(half));
    Value p =
        a.polynomial(square, {0.0374952368f, 0.014458728f, 0.0318005942f,
                              0.0445181206f, 0.0750049576f, 0.166666597f});
    arc = a.fma(a.mul(p, square), sine, sine);
  }
};
} // namespace

Value mlir::fa::expandAsin(FloatArithmetic &a, Value x) {
  Arc of(a, a.abs(x));
  Value far = subtractFrom(a, quarterTurn, a.add(of.arc, of.arc));
  return a.copySign(a.select(of.isNear, of.arc, far), x);
}

Value mlir::fa::expandAcos(FloatArithmetic &a, Value x) {
  Arc of(a, a.abs(x));
  Value twice = a.add(of.arc, of.arc);
  Value near = subtractFrom(a, quarterTurn, a.copySign(of.arc, x));
  Value far =
      a.select(a.isNegative(x), subtractFrom(a, halfTurn, twice), twice);
  return a.select(of.isNear, near, far);
}
