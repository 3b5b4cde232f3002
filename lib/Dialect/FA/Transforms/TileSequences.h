//===- TileSequences.h - Blocks of packed and paged sequences ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_TILESEQUENCES_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_TILESEQUENCES_H

#include "SequenceViews.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// A part of the keys of each sequence.
struct KeyPart {
  /// Among `count` parts; null for all keys.
  Value number;
  OpFoldResult count;
  /// Keys of a part, 0 for as many parts of one size as there are.
  int64_t size = 0;
  /// The first key and the number of keys where a list has them.
  Value first, keys;
};

/// Where the rows of a tile are written: rows of a sequence, at `batch` of
/// memory that has one.
struct TileResults {
  RowView output;
  Value lse, batch;
};

/// What an iteration of the loop over tiles computes.
struct TilePlace {
  Value batch, head;
  /// The first row of the block in its sequence, which may have fewer rows.
  Value first;
  /// Of a list, whose blocks may begin behind the last row.
  bool isListed = false;
};

/// Builds query blocks of attention on memrefs, a sequence each.
class SequenceTiler : public SequenceViews {
public:
  /// Makes views where the rewriter stands.
  SequenceTiler(RewriterBase &rewriter, AttentionOp op);

  /// A GPU may read the first entry of a table before it knows of no key.
  void checkPages();
  /// A loop over `before` and then (batch, head, query block), or the tiles of
  /// packed queries. `batches` is how many batches it has, null for all.
  scf::ForallOp createLoop(ArrayRef<OpFoldResult> before, int64_t block,
                           OpFoldResult batches = {});
  /// Where an iteration stands, by the indices behind `before`.
  TilePlace findPlace(ValueRange indices, int64_t block);
  /// Queries of a block: fewer than the configuration has where there are
  /// fewer.
  int64_t getQueryBlock();
  OpFoldResult countBatches();
  /// The keys that a sequence has room for, of the longest one where the host
  /// knows it.
  Value getMostKeys();
  /// The keys of a sequence by its starts and lengths: none where these cannot
  /// be.
  SequenceRows findKeys(Value batch);
  /// What parts of keys are a multiple of.
  int64_t getPartUnit();
  /// The memory of the results of the whole.
  TileResults getResults(Value batch);
  struct Rows {
    SequenceRows queries;
    OpFoldResult first, count;
  };
  Rows findTileRows(const TilePlace &place, int64_t block);
  Value sliceOutput(const TileResults &results, const Rows &rows, Value head);
  Value sliceLse(const TileResults &results, const Rows &rows, Value head);
  void buildTile(const TilePlace &place, int64_t block, const KeyPart &part,
                 const TileResults &results);

private:
  bool isOnDevice();
  bool copiesSpoilRows();
  Value countPages();
  Value countQueries() {
    return getSize(op.getQuery(), op.getQueryOrder(), DimKind::Sequence);
  }
  Value getKeyCapacity();
  Value hasPages(Value batch, Value count);
  Value getKeys(Value operand, DimsAttr order, const RowView &view, Value batch,
                const SequenceRows &rows, OpFoldResult first,
                OpFoldResult count, OpFoldResult head);

  AttentionOp op;
  RowView query, key, value, output;
  Value lse;
};

/// Replaces attention on packed sequences or pages by a parallel loop over
/// query blocks of one head around attention on views of one sequence.
FailureOr<scf::ForallOp> tileSequences(RewriterBase &rewriter, AttentionOp op);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_TILESEQUENCES_H
