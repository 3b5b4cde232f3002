//===- ComputedRows.h - Rows of a block that are computed -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last block of a sequence has fewer rows than others. A CPU computes those
// that there are, up to whole register tiles: the state of the block, queries
// of attention or keys of a gradient, has as many.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_COMPUTEDROWS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_COMPUTEDROWS_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// Rows to compute of a block of `most`, of which `count` are in the sequence.
/// All of it where their number is known, and on targets but CPUs.
OpFoldResult countComputedRows(OpBuilder &builder, Location loc,
                               ConfigAttr config, int64_t most,
                               OpFoldResult count);

/// Rows of a state, as they are known in front of the loops that carry it.
OpFoldResult getStateRows(OpBuilder &builder, Location loc, Value state);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_COMPUTEDROWS_H
