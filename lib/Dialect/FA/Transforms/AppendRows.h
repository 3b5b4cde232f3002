//===- AppendRows.h - Where new rows of a cache go --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_APPENDROWS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_APPENDROWS_H

#include "SequenceViews.h"

namespace mlir::fa {

/// All heads of one row: its place in the first two dimensions.
struct RowPlace {
  OpFoldResult outer, row;
};

/// The new rows of a sequence.
struct NewRows {
  /// In the operands that have them; whether all that says so can be.
  SequenceRows rows;
  /// The row of the cache where they begin.
  Value before;
};

/// Finds the rows of an append on memrefs, for all that write them.
class AppendRows : public SequenceViews {
public:
  /// Makes views where the rewriter stands.
  AppendRows(RewriterBase &rewriter, AppendOp op);

  OpFoldResult countBatches();
  /// The new rows as starts and lengths say.
  SequenceRows findNewRows(Value batch);
  /// The same, after a look at the rows and pages where they go, and at the
  /// positions that a rotary has.
  NewRows look(Value batch);
  /// Where new row `row` is, and where it goes.
  RowPlace getSource(Value batch, const NewRows &rows, Value row);
  RowPlace getTarget(Value batch, Value position);

protected:
  AppendOp op;
  RowView key, value, keyCache, valueCache;
  /// Rows that the cache of a sequence has, and rows of a page.
  Value capacity, pageRows;
};

/// Puts the loop that `build` makes in the place of an append, which is to be
/// on memrefs.
FailureOr<scf::ForallOp> replaceAppend(RewriterBase &rewriter, AppendOp op,
                                       function_ref<scf::ForallOp()> build);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_APPENDROWS_H
