//===- Remainder.cpp - Remainders of f32, by way of f64 -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C's fmod. A quotient of f32 that is rounded may be an integer too far, and a
// remainder then a divisor too small; that of f64 is none up to 2^29, and what
// it leaves is exact.
//
//===----------------------------------------------------------------------===//

#include "ElementaryMath.h"

using namespace mlir;
using namespace mlir::fa;

Value mlir::fa::expandRemainder(FloatArithmetic &a, Value x, Value y) {
  FloatArithmetic d = a.withElement(Float64Type::get(x.getContext()));
  Value dividend = d.abs(d.extendReal(x)), divisor = d.abs(d.extendReal(y));
  Value quotient = d.floor(d.div(dividend, divisor));
  Value rest = d.fma(d.negate(quotient), divisor, dividend);
  // Above 2^29 the quotient may be one too large, or too small.
  rest = d.select(d.less(rest, d.number(0.0)), d.add(rest, divisor), rest);
  rest = d.select(d.less(rest, divisor), rest, d.sub(rest, divisor));
  // 0 times an infinite divisor is no number.
  rest = d.select(d.less(dividend, divisor), dividend, rest);
  return a.copySign(a.truncateReal(rest), x);
}
