//===- ElementaryMath.h - Elementary functions in arithmetic ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Functions of f32 for all arguments: subnormal numbers, infinities, NaN and
// signed zeros included. Errors are stated in the description of
// fagpu-expand-math. Coefficients are minimax fits for the largest relative
// error, made for this file; those in f64 are Taylor series.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_ELEMENTARYMATH_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_ELEMENTARYMATH_H

#include "../FloatArithmetic.h"

namespace mlir::fagpu {

Value expandExp(fa::FloatArithmetic &a, Value x);
Value expandExp2(fa::FloatArithmetic &a, Value x);
/// exp(x) / 2, which is finite up to 89.4.
Value expandHalfExp(fa::FloatArithmetic &a, Value x);
Value expandExpM1(fa::FloatArithmetic &a, Value x);
Value expandLog(fa::FloatArithmetic &a, Value x);
Value expandLog2(fa::FloatArithmetic &a, Value x);
Value expandLog10(fa::FloatArithmetic &a, Value x);
Value expandLog1p(fa::FloatArithmetic &a, Value x);
Value expandSinh(fa::FloatArithmetic &a, Value x);
Value expandCosh(fa::FloatArithmetic &a, Value x);
Value expandAsinh(fa::FloatArithmetic &a, Value x);
Value expandAcosh(fa::FloatArithmetic &a, Value x);
Value expandAtanh(fa::FloatArithmetic &a, Value x);
Value expandTanh(fa::FloatArithmetic &a, Value x);
/// tanh(x), where `far` is tanh(|x|) for |x| from 0.625 on.
Value chooseTanh(fa::FloatArithmetic &a, Value x, Value far);
Value expandErf(fa::FloatArithmetic &a, Value x);
Value expandErfc(fa::FloatArithmetic &a, Value x);
Value expandSin(fa::FloatArithmetic &a, Value x);
Value expandCos(fa::FloatArithmetic &a, Value x);
Value expandTan(fa::FloatArithmetic &a, Value x);
Value expandAsin(fa::FloatArithmetic &a, Value x);
Value expandAcos(fa::FloatArithmetic &a, Value x);
Value expandAtan(fa::FloatArithmetic &a, Value x);
/// The angle of the point (x, y).
Value expandAtan2(fa::FloatArithmetic &a, Value y, Value x);
Value expandCbrt(fa::FloatArithmetic &a, Value x);
Value expandPower(fa::FloatArithmetic &a, Value x, Value y);
/// x to the power of an integer of up to 32 bits.
Value expandIntegerPower(fa::FloatArithmetic &a, Value x, Value n);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_ELEMENTARYMATH_H
