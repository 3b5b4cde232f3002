//===- RegionBounds.h - What a mask may be on a block -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_REGIONBOUNDS_H
#define FA_LIB_CONVERSION_FATOFAGPU_REGIONBOUNDS_H

#include "RegionOnBlocks.h"

namespace mlir::fa {

/// Evaluates a mask region on a block by interval arithmetic: indices lie
/// between the first and the last of the block, captured numbers between the
/// least and the greatest that the block reads. Rows and columns past the valid
/// queries and keys count for nothing.
class RegionBounds {
public:
  /// What does not depend on the column goes to `outside`, the rest to
  /// `inside`.
  RegionBounds(OpBuilder &outside, OpBuilder &inside, Location loc,
               const PairBlock &place)
      : outside(outside), inside(inside), loc(loc), place(place),
        ranges(place.queries, place.keys) {}

  /// Whether a pair may be visible, and whether one may be hidden; whether one
  /// certainly is visible, and one hidden, null where that is not known; all
  /// i1.
  struct Truth {
    Value mayBeTrue, mayBeFalse, isTrueOfSome, isFalseOfSome;
  };

  /// Null values where nothing is known.
  Truth apply(Region &mask, ValueRange captures);

private:
  /// What is known of a value of the region: of an i1 whether it may be true
  /// and false, of an integer its least and its greatest number, as indices.
  struct Bounds {
    Value first, second;
    bool ofColumn = false, ofRow = false;
    /// Of an integer: whether pairs of the block have the least and the
    /// greatest number.
    bool isReached = false;
    /// Of an i1: whether it certainly is true, and false, of a pair; null where
    /// that is not known.
    Value isTrueOfSome = {}, isFalseOfSome = {};

    explicit operator bool() const { return static_cast<bool>(first); }
    Bounds inverted() const {
      return {second, first,         ofColumn,    ofRow,
              false,  isFalseOfSome, isTrueOfSome};
    }
  };

  OpBuilder &builderOf(bool ofColumn) { return ofColumn ? inside : outside; }
  Value constant(OpBuilder &at, int64_t number);
  Value truth(OpBuilder &at, bool value);
  Bounds boundsOfIndex(Value first, int64_t size, bool ofColumn);
  Bounds evaluate(Operation *op);
  Value countValid(OpBuilder &at, bool ofColumn);
  std::optional<std::pair<Value, Value>>
  findExtremes(Value memory, ValueRange outer, bool ofColumn, Value &count);
  Bounds load(memref::LoadOp op);
  static bool areIndependent(const Bounds &a, const Bounds &b);
  Bounds compare(arith::CmpIOp op);
  Bounds add(Operation *op);
  Bounds conjoin(const Bounds &a, const Bounds &b);
  Bounds combine(Operation *op);
  Bounds choose(arith::SelectOp op);

  OpBuilder &outside, &inside;
  Location loc;
  const PairBlock &place;
  IndexRanges ranges;
  Value rowIndex, columnIndex;
  llvm::DenseMap<Value, Bounds> known;
  IRMapping captured;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_REGIONBOUNDS_H
