//===- TileBodies.h - What loops over tiles compute -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_TILEBODIES_H
#define FA_LIB_CONVERSION_FATOFAGPU_TILEBODIES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// A problem of one tile has no loop: what is of the tile in `body`, such as
/// block values and loads, becomes the only iteration of one, which ends where
/// its results are written. Sizes and views stay on the host. Fails with a
/// diagnostic where a result leaves the tile, or where the host writes between
/// what a tile reads and its end.
LogicalResult wrapSingleTile(Block &body);

/// Computes sizes of memory from outside of the loop before it, on the host.
void hoistSizes(scf::ForallOp loop);

/// Computes real scalars in the loop, which becomes a kernel that then sees
/// what is known of them, such as their sign; a launcher has no functions of
/// real numbers.
void sinkReals(scf::ForallOp loop);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_TILEBODIES_H
