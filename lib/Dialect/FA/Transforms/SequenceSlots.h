//===- SequenceSlots.h - Query blocks of packed sequences -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCESLOTS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCESLOTS_H

#include "TileSequences.h"

namespace mlir::fa {

/// Numbers the query blocks of packed sequences without a look at their
/// starts: sequence i has the slots from starts[i] / block + i on, up to those
/// of the next one. These are at least as many as its blocks, and all together
/// rows / block + batch. Starts that are out of bounds, or fall, leave
/// sequences without slots of their own, but name no others.
class SequenceSlots : SequenceViews {
public:
  /// Of `rows` rows. Builds where the rewriter stands.
  SequenceSlots(RewriterBase &rewriter, Location loc, Value starts, Value rows,
                int64_t block)
      : SequenceViews(rewriter, loc), starts(starts), rows(rows), block(block) {
  }

  /// The slots of all heads.
  OpFoldResult countTiles(Value heads);
  /// The place of a tile: one sequence after the other, its heads one after the
  /// other, so that keys and values are read while they are in a cache.
  TilePlace findPlace(Value tile, Value heads);

private:
  template <typename OpTy> Value make(Value a, Value b) {
    return rewriter.createOrFold<OpTy>(loc, a, b);
  }
  Value multiply(Value a, Value b);
  Value isLess(Value a, Value b);
  Value countSequences();
  Value getFirstSlot(Value sequence);
  Value findSequence(Value slot);

  Value starts, rows;
  int64_t block;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCESLOTS_H
