//===- VisibleKeys.h - How many keys query blocks see -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_VISIBLEKEYS_H
#define FA_LIB_CONVERSION_FATOFAGPU_VISIBLEKEYS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// About how many keys one query block of the tiled attention in `loop` visits,
/// computed on the host; the order of tiles depends on it, no result does.
/// `step` is the step of the attention, `keys` how many there are, `blocks` the
/// number of query blocks, all of type index.
///
/// All keys where the ranges begin at the first one. Where they begin
/// elsewhere, as those of a window, what the first, a middle and the last query
/// block visit at most. An eighth where a table lists the blocks: what a table
/// leaves is not known, and it is made for masks that leave little.
Value countVisibleKeys(OpBuilder &builder, scf::ForallOp loop,
                       AttentionLikeOpInterface step, Value keys, Value blocks);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_VISIBLEKEYS_H
