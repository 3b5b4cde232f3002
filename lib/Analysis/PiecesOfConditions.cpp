//===- PiecesOfConditions.cpp - Keys that linear conditions leave ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeBuilder.h"

using namespace mlir;
using namespace mlir::fa;

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
