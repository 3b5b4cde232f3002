//===- ContiguousHeadDims.h - Head dims contiguous in memory ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_CONTIGUOUSHEADDIMS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_CONTIGUOUSHEADDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Tensors that attentions and their gradients read or make, and whose head dim
/// will not be contiguous in memory, are transposed before or behind them.
/// Those that are arguments or results keep their order, which the function's
/// memrefs have. Before bufferization.
void makeHeadDimsContiguous(RewriterBase &rewriter, func::FuncOp function);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_CONTIGUOUSHEADDIMS_H
