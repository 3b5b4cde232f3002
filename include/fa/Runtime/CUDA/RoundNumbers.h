//===- RoundNumbers.h - Numbers of a call in their types --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call passes numbers as i64 or f64, whatever the types of the arguments.
// Floats are rounded to the nearest of their type, ties to even (IEEE 754-2019,
// 4.3.1), as a conversion on the device would; integers must fit theirs.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_ROUNDNUMBERS_H
#define FA_RUNTIME_CUDA_ROUNDNUMBERS_H

#include "fa-c/Runtime.h"
#include <cstdint>
#include <utility>

namespace mlir::fa::runtime {

/// The nearest number of a float type.
double roundTo(FaDataType type, double number);

/// The bits of the nearest f16 or bf16.
uint16_t getHalfBits(FaDataType type, double number);

/// The least and the greatest number of an integer type.
std::pair<int64_t, int64_t> getIntegerRange(FaDataType type);

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_ROUNDNUMBERS_H
