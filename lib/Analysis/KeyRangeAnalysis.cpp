//===- KeyRangeAnalysis.cpp - Keys that a block of queries sees -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a mask as a logical expression to the at most four key ranges of a query
// block. Read `buildRanges`, then `build` and its two steps: `getPieces`
// combines the keys that parts of the mask leave, and `emitPiece` cuts a piece
// into a partial, a full and a partial range. `getCausalKind` stands alone: it
// recognises the two causal masks by their linear form.
//
//===----------------------------------------------------------------------===//

#include "fa/Analysis/KeyRangeAnalysis.h"
#include "RangeBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

using Kind = MaskExpression::Kind;

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
  if (place.isAligned && piece.hull.begin) {
    // Where nothing is visible, the block of the last key.
    begin = roundDown(
        minimum(begin, maximum(subtract(end, constant(1)), constant(0))));
    if (previousEnd)
      begin = maximum(begin, previousEnd);
  }
  if (!allowFull || !piece.full)
    return {KeyRange{begin, end, false}};

  SmallVector<KeyRange> ranges;
  Value fullBegin = begin;
  // A begin that was rounded down has keys before it that are hidden, where one
  // query sees all keys of the hull too.
  if (piece.full->begin != piece.hull.begin ||
      (place.isAligned && piece.hull.begin)) {
    if (piece.full->begin) {
      Value distance = getDistance(getLocal(piece.full->begin, end), begin);
      fullBegin = minimum(add(begin, roundUp(distance)), end);
    }
    ranges.push_back({begin, fullBegin, false});
  }
  Value fullEnd = end;
  if (piece.full->end && piece.full->end != piece.hull.end) {
    fullEnd = getLocal(piece.full->end, end);
  } else if (place.isRestFull) {
    ranges.push_back({fullBegin, end, true});
    return ranges;
  }
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
  if (place.isAligned)
    first.front().end = minimum(roundUp(first.front().end), place.numKeys);
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
