//===- PairRegions.h - Inline regions on pairs ----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_PAIRREGIONS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_PAIRREGIONS_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// Where one (query, key) pair stands: what its regions see.
struct PairPlace {
  Value batch, head, query, key;
  /// Valid queries and keys of this batch.
  Value queries, keys;
};

/// The tables as loads of `inlinePairRegion` may read them. One that may have
/// no elements is replaced, when it has none, by readable memory in which each
/// dynamic size is 0. Sizes are looked up at the builder's place; the memory is
/// of the function, or of the parallel loop.
SmallVector<Value> guardEmptyTables(OpBuilder &builder, Location loc,
                                    ValueRange tables);

/// Copies the body of a region on pairs to the builder's place and returns what
/// it yields. `elements` are the region's first arguments. A captured load
/// reads 0 out of bounds, where its indices are not known to be inside;
/// `captures` are guarded by `guardEmptyTables`.
SmallVector<Value> inlinePairRegion(OpBuilder &builder, Region &region,
                                    ValueRange elements, const PairPlace &place,
                                    ValueRange captures);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_PAIRREGIONS_H
