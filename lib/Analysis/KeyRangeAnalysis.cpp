//===- KeyRangeAnalysis.cpp - Keys that a block of queries sees ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Analysis/KeyRangeAnalysis.h"
#include "MaskSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

using Kind = MaskExpression::Kind;

namespace {

/// Consecutive keys; a null bound is absent: the keys go on without end.
struct Interval {
  Value begin, end;
};
bool operator==(const Interval &a, const Interval &b) {
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

} // namespace

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

// All keys under `certain`, none unless `mayBe`.
Pieces RangeBuilder::getConditional(Value mayBe, Value certain) {
  Value end = getEndOfKeys();
  Interval hull{Value(), choose(mayBe, end, place.firstKey)};
  Interval full = hull;
  if (certain != mayBe)
    full.end = choose(certain, end, place.firstKey);
  return {Piece{hull, full}};
}

// Whether the value's form, as a sum without bounds, fits its type for all
// queries and keys of the block.
Value RangeBuilder::getFits(Value value) {
  LinearForm rest = normalizer.getForm(value);
  int64_t factor = rest.key;
  rest.key = 0;
  auto [smallest, largest] = slice.getExtremes(rest);
  if (factor != 0) {
    auto addKey = [&](Value sum, Value key) {
      return add(
          sum, builder.createOrFold<arith::MulIOp>(loc, key, constant(factor)));
    };
    Value first = place.firstKey, last = subtract(getEndOfKeys(), constant(1));
    if (factor < 0)
      std::swap(first, last);
    smallest = addKey(smallest, first);
    largest = addKey(largest, last);
  }
  IntegerRange type = IntegerRange::getSymmetric(value.getType());
  return builder.createOrFold<arith::AndIOp>(
      loc, isAtMost(constant(type.least), smallest),
      isAtMost(largest, constant(type.greatest)));
}

// Where a value does not fit its type, nothing is known.
Pieces RangeBuilder::getNonPositive(const LinearForm &form) {
  Pieces pieces = getNonPositiveSum(form);
  if (form.mayWrap.empty())
    return pieces;
  Value fits;
  for (Value value : form.mayWrap) {
    Value own = getFits(value);
    fits = fits ? builder.createOrFold<arith::AndIOp>(loc, fits, own) : own;
  }
  Value begin = place.firstKey, end = getEndOfKeys();
  auto widen = [&](Value &bound, Value otherwise) {
    if (bound)
      bound = choose(fits, bound, otherwise);
  };
  Piece &piece = pieces.front();
  widen(piece.hull.begin, begin);
  widen(piece.hull.end, end);
  widen(piece.full->begin, end);
  widen(piece.full->end, begin);
  return pieces;
}

// key * a + rest <= 0: for a positive a, key <= floor(-rest / a), else
// key >= ceil(rest / -a). One piece, open on one side at least, with a full
// part.
Pieces RangeBuilder::getNonPositiveSum(const LinearForm &form) {
  LinearForm rest = form;
  rest.key = 0;
  if (form.key == 0) {
    auto [smallest, largest] = slice.getExtremes(rest);
    Value zero = constant(0);
    Value mayBe = isAtMost(smallest, zero);
    Value certain = largest == smallest ? mayBe : isAtMost(largest, zero);
    return getConditional(mayBe, certain);
  }
  if (form.key < 0) {
    auto [smallest, largest] = slice.getExtremes(rest);
    auto getBegin = [&](Value bound) {
      return form.key == -1 ? bound
                            : builder.createOrFold<arith::CeilDivSIOp>(
                                  loc, bound, constant(-form.key));
    };
    Value begin = getBegin(smallest);
    Value fullBegin = largest == smallest ? begin : getBegin(largest);
    return {Piece{{begin, Value()}, Interval{fullBegin, Value()}}};
  }
  LinearForm opposite;
  opposite.add(rest, -1);
  if (form.key == 1)
    opposite.addConstant(1);
  auto [smallest, largest] = slice.getExtremes(opposite);
  auto getEnd = [&](Value bound) {
    return form.key == 1 ? bound
                         : add(builder.createOrFold<arith::FloorDivSIOp>(
                                   loc, bound, constant(form.key)),
                               constant(1));
  };
  Value end = getEnd(largest);
  Value fullEnd = largest == smallest ? end : getEnd(smallest);
  return {Piece{{Value(), end}, Interval{Value(), fullEnd}}};
}

Pieces RangeBuilder::getPieces(const MaskExpression &expression) {
  switch (expression.kind) {
  case Kind::True:
    return {Piece{{}, Interval{}}};
  case Kind::False:
    return {};
  case Kind::Unknown:
    return {Piece{{}, std::nullopt}};
  case Kind::NonPositive:
    return getNonPositive(expression.form);
  case Kind::Condition: {
    Value condition = slice.get(expression.condition, BlockEnd::First);
    if (expression.negated)
      condition = builder.createOrFold<arith::XOrIOp>(
          loc, condition,
          arith::ConstantIntOp::create(builder, loc, 1, /*width=*/1));
    return getConditional(condition, condition);
  }
  case Kind::And: {
    Pieces result = getPieces(expression.operands.front());
    for (const MaskExpression &operand :
         ArrayRef(expression.operands).drop_front())
      result = intersect(result, getPieces(operand));
    return result;
  }
  case Kind::Or: {
    Pieces result;
    for (const MaskExpression &operand : expression.operands)
      for (const Piece &piece : getPieces(operand))
        result = unite(std::move(result), piece);
    return result;
  }
  }
  llvm_unreachable("unknown kind");
}

//===----------------------------------------------------------------------===//
// Boolean combinations
//===----------------------------------------------------------------------===//

Interval RangeBuilder::intersect(const Interval &a, const Interval &b) {
  Interval result;
  result.begin = !a.begin   ? b.begin
                 : !b.begin ? a.begin
                            : maximum(a.begin, b.begin);
  result.end = !a.end ? b.end : !b.end ? a.end : minimum(a.end, b.end);
  return result;
}

Piece RangeBuilder::intersect(const Piece &a, const Piece &b) {
  Piece result{intersect(a.hull, b.hull), std::nullopt};
  if (!a.full || !b.full)
    return result;
  result.full = intersect(*a.full, *b.full);
  // Bounds that the hull and the full part share stay one value.
  if (a.full->begin == a.hull.begin && b.full->begin == b.hull.begin)
    result.full->begin = result.hull.begin;
  if (a.full->end == a.hull.end && b.full->end == b.hull.end)
    result.full->end = result.hull.end;
  return result;
}

Pieces RangeBuilder::intersect(const Pieces &a, const Pieces &b) {
  // Of two pairs the second is joined, so that at most two pieces remain.
  if (a.size() == 2 && b.size() == 2)
    return intersect(a, Pieces{cover(b[0], b[1])});
  Pieces result;
  for (const Piece &left : a)
    for (const Piece &right : b)
      result.push_back(intersect(left, right));
  return result;
}

// What every query sees of two pieces, as one interval. Where they cannot be
// joined without knowing more, the longer of both.
std::optional<Interval> RangeBuilder::coverFull(const Piece &a,
                                                const Piece &b) {
  if (!a.full || !b.full)
    return a.full ? a.full : b.full;
  const Interval &x = *a.full, &y = *b.full;
  if (!x.begin && !y.begin)
    return Interval{Value(), x.end && y.end ? maximum(x.end, y.end) : Value()};
  if (!x.end && !y.end)
    return Interval{x.begin && y.begin ? minimum(x.begin, y.begin) : Value(),
                    Value()};
  auto close = [&](const Interval &interval) {
    return Interval{interval.begin ? interval.begin : place.firstKey,
                    interval.end ? interval.end : getEndOfKeys()};
  };
  Interval first = close(x), second = close(y);
  Value firstLength = subtract(first.end, first.begin);
  Value secondLength = subtract(second.end, second.begin);
  Value isLonger = isAtMost(secondLength, firstLength);
  return Interval{choose(isLonger, first.begin, second.begin),
                  choose(isLonger, first.end, second.end)};
}

// One piece over both and all that lies between them.
Piece RangeBuilder::cover(const Piece &a, const Piece &b) {
  Piece result{{}, coverFull(a, b)};
  if (a.hull.begin && b.hull.begin)
    result.hull.begin = minimum(a.hull.begin, b.hull.begin);
  if (a.hull.end && b.hull.end)
    result.hull.end = maximum(a.hull.end, b.hull.end);
  if (a.full && b.full && *a.full == a.hull && *b.full == b.hull) {
    bool sameSide =
        (!a.hull.begin && !b.hull.begin) || (!a.hull.end && !b.hull.end);
    if (sameSide)
      result.full = result.hull;
  }
  return result;
}

// Two pieces in ascending order that share no key. Neither is open on both
// sides, and they are not open on the same side.
Pieces RangeBuilder::separate(Piece a, Piece b) {
  if (!b.hull.begin || !a.hull.end)
    std::swap(a, b);
  if (!b.hull.end && a.hull.end && a.hull.begin) {
    // The second takes what both have.
    a.hull.end = minimum(a.hull.end, b.hull.begin);
    return {a, b};
  }
  if (a.hull.begin) {
    Value ordered = isAtMost(a.hull.begin, b.hull.begin);
    auto order = [&](Interval &x, Interval &y) {
      Interval first{choose(ordered, x.begin, y.begin),
                     choose(ordered, x.end, y.end)};
      Interval second{choose(ordered, y.begin, x.begin),
                      choose(ordered, y.end, x.end)};
      x = first;
      y = second;
    };
    order(a.hull, b.hull);
    if (a.full && b.full && a.full->begin && a.full->end && b.full->begin &&
        b.full->end)
      order(*a.full, *b.full);
    else
      a.full = b.full = std::nullopt;
  }
  bool sharesBegin = b.full && b.full->begin == b.hull.begin;
  b.hull.begin = maximum(b.hull.begin, a.hull.end);
  if (sharesBegin)
    b.full->begin = b.hull.begin;
  return {a, b};
}

Pieces RangeBuilder::unite(Pieces pieces, const Piece &piece) {
  auto isWhole = [](const Piece &p) { return !p.hull.begin && !p.hull.end; };
  for (Piece &known : pieces) {
    bool sameSide = (!known.hull.begin && !piece.hull.begin) ||
                    (!known.hull.end && !piece.hull.end);
    if (!sameSide && !isWhole(known) && !isWhole(piece))
      continue;
    Piece joined = cover(known, piece);
    if (pieces.size() == 1)
      return {joined};
    const Piece &other = &known == pieces.begin() ? pieces[1] : pieces[0];
    if (isWhole(joined))
      return {cover(joined, other)};
    return separate(joined, other);
  }
  if (pieces.empty())
    return {piece};
  if (pieces.size() == 1)
    return separate(pieces.front(), piece);
  // Three: what begins at the first key stays apart, the rest is joined.
  if (!pieces[0].hull.begin)
    return separate(pieces[0], cover(pieces[1], piece));
  return {cover(cover(pieces[0], pieces[1]), piece)};
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

// The ranges of one piece: partial, full, partial. Blocks count from the
// begin of the hull, so that only the last one may be incomplete.
SmallVector<KeyRange>
RangeBuilder::emitPiece(const Piece &piece, Value previousEnd, bool allowFull) {
  Value end = place.numKeys;
  if (piece.hull.end)
    end = getLocal(piece.hull.end, end);
  if (previousEnd)
    end = maximum(end, previousEnd);
  Value begin = constant(0);
  if (piece.hull.begin)
    begin = getLocal(piece.hull.begin, end);
  if (!allowFull || !piece.full)
    return {KeyRange{begin, end, false}};

  SmallVector<KeyRange> ranges;
  Value fullBegin = begin;
  if (piece.full->begin != piece.hull.begin) {
    if (piece.full->begin) {
      Value distance = getDistance(getLocal(piece.full->begin, end), begin);
      fullBegin = minimum(add(begin, roundUp(distance)), end);
    }
    ranges.push_back({begin, fullBegin, false});
  }
  Value fullEnd = end;
  if (piece.full->end && piece.full->end != piece.hull.end)
    fullEnd = getLocal(piece.full->end, end);
  // Both ends lie a multiple of the step from the begin of the hull.
  fullEnd = add(fullBegin, roundDown(getDistance(fullEnd, fullBegin)));
  ranges.push_back({fullBegin, fullEnd, true});
  ranges.push_back({fullEnd, end, false});
  return ranges;
}

SmallVector<KeyRange> RangeBuilder::build(const MaskExpression &expression) {
  Pieces pieces = getPieces(expression);
  SmallVector<KeyRange> ranges;
  if (pieces.empty())
    return ranges;
  if (pieces.size() == 1)
    return emitPiece(pieces.front(), Value(), /*allowFull=*/true);
  // Four ranges hold a piece of three and one more: the first piece, which
  // is short where it is a sink, stays partial.
  SmallVector<KeyRange> first =
      emitPiece(pieces[0], Value(), /*allowFull=*/false);
  ranges = emitPiece(pieces[1], first.front().end, /*allowFull=*/true);
  ranges.insert(ranges.begin(), first.front());
  return ranges;
}

SmallVector<KeyRange>
KeyRangeAnalysis::buildRanges(OpBuilder &builder, Location loc,
                              const QueryBlockPlace &place, int64_t step) {
  QueryBlockPlace visible = place;
  if (!place.hasQueries) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value hasQueries = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::sgt, place.numQueries, zero);
    visible.numKeys = builder.createOrFold<arith::SelectOp>(
        loc, hasQueries, place.numKeys, zero);
  }
  return RangeBuilder(builder, loc, region, normalizer, visible, step)
      .build(getExpression());
}

CausalKind mlir::fa::getCausalKind(AttentionLikeOpInterface op) {
  MaskNormalizer normalizer(op.getMask());
  const MaskExpression &expression = normalizer.getExpression();
  if (expression.kind != Kind::NonPositive)
    return CausalKind::None;
  const LinearForm &form = expression.form;
  if (form.key != 1 || form.constant != 0 || !form.mayWrap.empty() ||
      form.getCoefficient(normalizer.getQuery()) != -1)
    return CausalKind::None;
  if (form.terms.size() == 1)
    return CausalKind::TopLeft;
  if (form.terms.size() != 3)
    return CausalKind::None;
  int64_t queries = 0, keys = 0;
  for (auto [term, coefficient] : form.terms) {
    if (term.getDefiningOp<QueryLengthOp>())
      queries = coefficient;
    if (term.getDefiningOp<KeyLengthOp>())
      keys = coefficient;
  }
  return queries == 1 && keys == -1 ? CausalKind::BottomRight
                                    : CausalKind::None;
}
