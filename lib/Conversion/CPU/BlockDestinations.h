//===- BlockDestinations.h - Where loops of blocks write --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_CPU_BLOCKDESTINATIONS_H
#define FA_LIB_CONVERSION_CPU_BLOCKDESTINATIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// An empty tensor of the same shape, with the sizes of the first destination
/// on the way: to ask the value itself would be a reader more.
Value createEmptyLike(OpBuilder &builder, Location loc, Value value);

/// Whether no loop of `op` reduces, and each writes elements where it is.
bool isElementwise(linalg::GenericOp op);

/// Results are written where an input is read last, and reductions start from
/// fills of their own.
void populateBlockDestinationPatterns(RewritePatternSet &patterns);

/// A carried value that is read after its successor is known cannot be where
/// the successor is computed: the last reader moves it there, in the loop that
/// it has anyway.
void updateCarriedLate(RewriterBase &rewriter, scf::ForOp loop);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_CPU_BLOCKDESTINATIONS_H
