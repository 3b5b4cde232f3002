//===- RangeBuilder.h - Pieces of keys that a block sees --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_ANALYSIS_RANGEBUILDER_H
#define FA_LIB_ANALYSIS_RANGEBUILDER_H

#include "MaskSlice.h"
#include "fa/Analysis/KeyRangeAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {

/// Consecutive keys; a null bound is absent: the keys go on without end.
struct Interval {
  Value begin, end;
};
inline bool operator==(const Interval &a, const Interval &b) {
  return a.begin == b.begin && a.end == b.end;
}

/// An interval outside which no query sees a key of this piece, and within
/// it one where every query sees every key, if any.
struct Piece {
  Interval hull;
  std::optional<Interval> full;
};

/// At most two pieces. With two, the second's begin and the first's end are
/// present and the begin is not below the end.
using Pieces = SmallVector<Piece, 2>;

/// Turns the normal form into pieces and pieces into ranges.
class RangeBuilder {
public:
  RangeBuilder(OpBuilder &builder, Location loc, Region &region,
               MaskNormalizer &normalizer, const QueryBlockPlace &place,
               int64_t step)
      : builder(builder), loc(loc), place(place), step(step),
        normalizer(normalizer), slice(builder, loc, region, normalizer, place) {
  }

  SmallVector<KeyRange> build(const MaskExpression &expression);

private:
  Pieces getPieces(const MaskExpression &expression);
  Pieces getNonPositive(const LinearForm &form);
  Pieces getNonPositiveSum(const LinearForm &form);
  Value getFits(Value value);
  Pieces getConditional(Value mayBe, Value certain);

  Pieces intersect(const Pieces &a, const Pieces &b);
  Piece intersect(const Piece &a, const Piece &b);
  Interval intersect(const Interval &a, const Interval &b);
  Pieces unite(Pieces pieces, const Piece &piece);
  Pieces separate(Piece a, Piece b);
  Piece cover(const Piece &a, const Piece &b);
  std::optional<Interval> coverFull(const Piece &a, const Piece &b);

  SmallVector<KeyRange> emitPiece(const Piece &piece, Value previousEnd,
                                  bool allowFull);

  Value constant(int64_t value) {
    Value &known = constants[value];
    if (!known)
      known = arith::ConstantIndexOp::create(builder, loc, value);
    return known;
  }
  template <typename OpTy> Value combine(Value a, Value b) {
    return a == b ? a : builder.createOrFold<OpTy>(loc, a, b);
  }
  Value minimum(Value a, Value b) { return combine<arith::MinSIOp>(a, b); }
  Value maximum(Value a, Value b) { return combine<arith::MaxSIOp>(a, b); }
  Value add(Value a, Value b) {
    return builder.createOrFold<arith::AddIOp>(loc, a, b);
  }
  Value increment(Value a) { return add(a, constant(1)); }
  Value subtract(Value a, Value b) {
    return builder.createOrFold<arith::SubIOp>(loc, a, b);
  }
  Value isAtMost(Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sle,
                                               a, b);
  }
  Value choose(Value condition, Value a, Value b) {
    return a == b ? a
                  : builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
  }
  /// For a length that is not negative.
  Value roundDown(Value length) {
    if (step == 1)
      return length;
    return subtract(length, builder.createOrFold<arith::RemUIOp>(
                                loc, length, constant(step)));
  }
  Value roundUp(Value length) {
    return step == 1 ? length : roundDown(add(length, constant(step - 1)));
  }
  /// The first key past the block's keys, absolute.
  Value getEndOfKeys() { return add(place.firstKey, place.numKeys); }
  /// A bound in keys from the block's first key, within [0, limit].
  Value getLocal(Value bound, Value limit) {
    Value local = maximum(subtract(bound, place.firstKey), constant(0));
    return minimum(local, limit);
  }
  /// `a - b` or 0, for an `a` that is not negative.
  Value getDistance(Value a, Value b) {
    return b == constant(0) ? a : maximum(subtract(a, b), constant(0));
  }

  OpBuilder &builder;
  Location loc;
  const QueryBlockPlace &place;
  int64_t step;
  MaskNormalizer &normalizer;
  MaskSlice slice;
  DenseMap<int64_t, Value> constants;
};

} // namespace mlir::fa

#endif // FA_LIB_ANALYSIS_RANGEBUILDER_H
