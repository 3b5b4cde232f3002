//===- TileNumbers.h - From the number of a tile to loop indices ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_TILENUMBERS_H
#define FA_LIB_CONVERSION_FATOFAGPU_TILENUMBERS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Marks an argument of a kernel: memory that lists its tiles, whose first word
/// says how many there are.
inline constexpr StringLiteral tileListAttrName = "fa.tile_list";

/// How many tiles there are along each dimension of a grid, the query blocks
/// last; all of type index.
struct TileCounts {
  SmallVector<Value> counts;
  /// Sequences, that is pairs of batch and head, that are worked on together;
  /// null where tiles come sequence by sequence.
  Value together;
  /// How many consecutive tiles are of one sequence, as those of a cluster have
  /// to be. The last ones of a sequence may then start behind its last row.
  int64_t cluster = 1;
  /// Whether the first block of a sequence comes first, and not the last one.
  bool isAscending = false;
};

/// Numbers of tiles of a sequence of `blocks` query blocks: a multiple of
/// `cluster`.
Value countInClusters(OpBuilder &builder, Location loc, Value blocks,
                      int64_t cluster);

/// Keys and values of so many keys stay in the L2 cache beside what else passes
/// through it; of blocks of keys, as much of what these visit.
int64_t countCachedKeys(AttentionLikeOpInterface step);

/// How many sequences to work on together, computed on the host: so many that
/// the keys and values (of blocks of keys: the queries and the gradients of the
/// output) that their tiles visit at a time stay in the L2 cache beside what
/// else passes through it. Gradients in one pass take as many as fill all
/// multiprocessors. `step` is the step of the tiled attention in `loop`,
/// `sequences` how many there are, each of `blocks` blocks. Null where what is
/// visited is no memory of the host.
Value countTogether(OpBuilder &builder, scf::ForallOp loop,
                    AttentionLikeOpInterface step, Value sequences,
                    Value blocks);

/// The number along each dimension of the grid of the tile of number `tile`.
/// Query blocks come from the last one back, apart from those of clusters: with
/// a causal mask the ones with most keys first, so that none starts late with
/// much to do.
SmallVector<Value> decodeTileNumber(OpBuilder &builder, Location loc,
                                    Value tile, const TileCounts &grid);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_TILENUMBERS_H
