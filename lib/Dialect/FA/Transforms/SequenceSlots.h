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
///
/// With `allRows`, rows ahead of the first start and behind the last one count
/// as a sequence each: numbers of sequences are then those of the starts that
/// they begin at, and one more behind.
class SequenceSlots : SequenceViews {
public:
  /// Of `rows` rows. Builds where the rewriter stands.
  SequenceSlots(RewriterBase &rewriter, Location loc, Value starts, Value rows,
                int64_t block, bool allRows = false)
      : SequenceViews(rewriter, loc), starts(starts), rows(rows), block(block),
        allRows(allRows) {}

  /// Sequences that have slots.
  Value countSequences();
  /// The slots of all rows, and of all heads.
  Value countSlots();
  OpFoldResult countTiles(Value heads);
  /// The first slot of a sequence, in bounds of all slots, whatever the start
  /// is.
  Value getFirstSlot(Value sequence);
  /// Where a sequence begins, in bounds of all rows.
  Value getStart(Value sequence);
  /// Whether no start falls or is out of bounds. Only looked up where `need` is
  /// not 0; by whole warps where `sideBySide`.
  Value areOrdered(Value need, bool sideBySide);
  /// The place of a tile: one sequence after the other, its heads one after the
  /// other, so that keys and values are read while they are in a cache.
  TilePlace findPlace(Value tile, Value heads);

private:
  template <typename OpTy> Value make(Value a, Value b) {
    return rewriter.createOrFold<OpTy>(loc, a, b);
  }
  Value multiply(Value a, Value b);
  Value isLess(Value a, Value b);
  Value countEntries();
  Value findSequence(Value slot);

  Value starts, rows;
  int64_t block;
  bool allRows;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_SEQUENCESLOTS_H
