//===- DecomposeGradient.h - Steps of gradients as block algebra -*- C++
//-*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_DECOMPOSEGRADIENT_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_DECOMPOSEGRADIENT_H

namespace mlir {
class MLIRContext;

namespace fa {

/// Lets the steps of gradients, their begin and their end decompose.
void attachDecomposeGradientModels(MLIRContext *context);

} // namespace fa
} // namespace mlir

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_DECOMPOSEGRADIENT_H
