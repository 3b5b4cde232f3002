//===- ElementaryMath.h - Elementary functions in arithmetic -----*- C++
//-*-===//
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
Value expandLog(fa::FloatArithmetic &a, Value x);
Value expandLog2(fa::FloatArithmetic &a, Value x);
Value expandTanh(fa::FloatArithmetic &a, Value x);
/// tanh(x), where `far` is tanh(|x|) for |x| from 0.625 on.
Value chooseTanh(fa::FloatArithmetic &a, Value x, Value far);
Value expandErf(fa::FloatArithmetic &a, Value x);
Value expandSin(fa::FloatArithmetic &a, Value x);
Value expandCos(fa::FloatArithmetic &a, Value x);
Value expandPower(fa::FloatArithmetic &a, Value x, Value y);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_ELEMENTARYMATH_H
