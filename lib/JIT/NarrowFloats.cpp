//===- NarrowFloats.cpp - Conversions that code generators call -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstdint>

float mlir::fa::truncateToBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    bits |= 1u << 22;
  else
    bits += 0x7fff + ((bits >> 16) & 1);
  return llvm::bit_cast<float>(bits >> 16);
}

float mlir::fa::truncateToBF16(double value) {
  // Rounded to odd, so that the second rounding knows what the first dropped.
  float single = static_cast<float>(value);
  uint32_t bits = llvm::bit_cast<uint32_t>(single);
  if (!std::isnan(value) && double(single) != value && bits % 2 == 0)
    bits += std::fabs(double(single)) > std::fabs(value) ? -1 : 1;
  return truncateToBF16(llvm::bit_cast<float>(bits));
}
