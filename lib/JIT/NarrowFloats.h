//===- NarrowFloats.h - Conversions that code generators call ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM calls these where a CPU has no conversion to bf16: for a vector of one
// scalar, too, though nothing is rounded there. libgcc has them from
// release 13.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_JIT_NARROWFLOATS_H
#define FA_LIB_JIT_NARROWFLOATS_H

namespace mlir::fa {

/// `__truncsfbf2` and `__truncdfbf2`: the nearest bf16, of two the even one. It
/// is in the lower half of the result, whose register a bf16 is returned in.
float truncateToBF16(float value);
float truncateToBF16(double value);

} // namespace mlir::fa

#endif // FA_LIB_JIT_NARROWFLOATS_H
