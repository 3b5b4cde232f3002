//===- BlockTable.h - A table of listed blocks ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_BLOCKTABLE_H
#define FA_LIB_CONVERSION_FATOFAGPU_BLOCKTABLE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// Memory of i32 that lists, for places in a loop over tiles, which blocks of
/// keys or queries these visit, each block by its number from the first one on.
class BlockTable {
public:
  /// Creates it before `loop`: a row for each place along `dims` of it, for as
  /// many blocks of `block` rows as `length`, an index, has.
  BlockTable(scf::ForallOp loop, ArrayRef<unsigned> dims, Value length,
             int64_t block);

  /// Of one row, the indices of its words: of the number of full blocks, of
  /// that of partial ones, and of the ends of the list. Full blocks are listed
  /// from the first word on, partial ones from the last one back.
  struct Row {
    Value numFull, numPartial, first, last;
  };

  /// The row of a place; `indices` are those of the dimensions.
  Row getRow(OpBuilder &at, ValueRange indices);

  /// A word, as an index that is seen to be short.
  Value load(OpBuilder &at, Value place);
  void store(OpBuilder &at, Value number, Value place);

private:
  scf::ForallOp loop;
  Location loc;
  SmallVector<unsigned> dims;
  /// Rows along each of `dims`, and words of a row.
  SmallVector<Value> counts;
  Value words;
  Value memory;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_BLOCKTABLE_H
