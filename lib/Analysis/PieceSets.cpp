//===- PieceSets.cpp - Intersections and unions of pieces of keys ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeBuilder.h"

using namespace mlir;
using namespace mlir::fa;

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
