//===- RegionBounds.cpp - What a mask may be on a block -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a mask on a whole block by interval arithmetic, to tell whether
// it hides all pairs, some or none. A value is an interval of integers, or
// whether it may be true and false. Source: Moore, Interval Analysis, 1966.
// Read `apply`, at the end, then `evaluate` and `compare`.
//
//===----------------------------------------------------------------------===//

#include "RegionBounds.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

Value RegionBounds::constant(OpBuilder &at, int64_t number) {
  return arith::ConstantIndexOp::create(at, loc, number);
}

Value RegionBounds::truth(OpBuilder &at, bool value) {
  return arith::ConstantIntOp::create(at, loc, value, /*width=*/1);
}

RegionBounds::Bounds RegionBounds::boundsOfIndex(Value first, int64_t size,
                                                 bool ofColumn) {
  OpBuilder &at = builderOf(ofColumn);
  Value last = arith::AddIOp::create(at, loc, first, constant(at, size - 1));
  return {first, last, ofColumn, /*ofRow=*/!ofColumn, /*isReached=*/true};
}

/// How many of the block's rows or columns are valid: those of a block past the
/// valid ones count as a whole.
Value RegionBounds::countValid(OpBuilder &at, bool ofColumn) {
  Value all = constant(at, ofColumn ? place.columns : place.rows);
  Value rest = arith::SubIOp::create(
      at, loc, ofColumn ? place.validColumns() : place.validRows(),
      ofColumn ? place.firstColumn() : place.firstRow());
  Value isValid = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::sgt,
                                        rest, constant(at, 0));
  return arith::SelectOp::create(
      at, loc, isValid, arith::MinSIOp::create(at, loc, rest, all), all);
}

/// The least and the greatest of `count` elements from the place on whose
/// indices before the last one are `outer`, the same for all pairs: none where
/// these are out of bounds. Nothing where an index is not the same.
std::optional<std::pair<Value, Value>>
RegionBounds::findExtremes(Value memory, ValueRange outer, bool ofColumn,
                           Value &count) {
  OpBuilder &at = builderOf(ofColumn);
  Type i32 = at.getI32Type();
  SmallVector<Value> indices;
  for (auto [number, index] : llvm::enumerate(outer)) {
    Bounds bounds = known.lookup(index);
    if (!bounds || bounds.ofColumn || bounds.first != bounds.second)
      return std::nullopt;
    Value size = memref::DimOp::create(outside, loc, memory,
                                       static_cast<int64_t>(number));
    Value inBounds = arith::CmpIOp::create(
        outside, loc, arith::CmpIPredicate::ult, bounds.first, size);
    count = arith::SelectOp::create(at, loc, inBounds, count, constant(at, 0));
    indices.push_back(
        arith::IndexCastOp::create(outside, loc, i32, bounds.first));
  }
  indices.push_back(arith::IndexCastOp::create(
      at, loc, i32, ofColumn ? place.firstColumn() : place.firstRow()));
  auto extremes = fagpu::ExtremesOp::create(
      at, loc, i32, i32, memory, indices, ofColumn ? place.columns : place.rows,
      arith::IndexCastOp::create(at, loc, i32, count));
  auto asIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(at, loc, at.getIndexType(), value);
  };
  return std::pair(asIndex(extremes.getLeast()),
                   asIndex(extremes.getGreatest()));
}

/// Consecutive elements of captured memory: those of the block's rows or of its
/// columns, and 0 where the memory ends before them.
RegionBounds::Bounds RegionBounds::load(memref::LoadOp op) {
  Value last = op.getIndices().back();
  if (!op.getType().isInteger(32) || (last != rowIndex && last != columnIndex))
    return {};
  bool ofColumn = last == columnIndex;
  OpBuilder &at = builderOf(ofColumn);
  Value memory = captured.lookup(op.getMemRef());
  if (!cast<MemRefType>(memory.getType()).getLayout().isIdentity())
    return {};
  Value needed = countValid(at, ofColumn);
  Value size = memref::DimOp::create(
      outside, loc, memory, static_cast<int64_t>(op.getIndices().size()) - 1);
  Value rest = arith::SubIOp::create(
      at, loc, size, ofColumn ? place.firstColumn() : place.firstRow());
  Value count = arith::MinSIOp::create(at, loc, rest, needed);
  auto extremes =
      findExtremes(memory, op.getIndices().drop_back(), ofColumn, count);
  if (!extremes)
    return {};
  auto [least, greatest] = *extremes;
  Value zero = constant(at, 0);
  Value isShort =
      arith::CmpIOp::create(at, loc, arith::CmpIPredicate::slt, count, needed);
  auto orZero = [&](Value withZero, Value value) -> Value {
    return arith::SelectOp::create(at, loc, isShort, withZero, value);
  };
  return {orZero(arith::MinSIOp::create(at, loc, least, zero), least),
          orZero(arith::MaxSIOp::create(at, loc, greatest, zero), greatest),
          ofColumn, /*ofRow=*/!ofColumn, /*isReached=*/true};
}

/// Whether some pair has any number of the one and any number of the other.
bool RegionBounds::areIndependent(const Bounds &a, const Bounds &b) {
  return !(a.ofColumn && b.ofColumn) && !(a.ofRow && b.ofRow);
}

RegionBounds::Bounds RegionBounds::compare(arith::CmpIOp op) {
  if (!op.getLhs().getType().isIntOrIndex() ||
      op.getLhs().getType().isInteger(1))
    return {};
  Bounds a = known.lookup(op.getLhs()), b = known.lookup(op.getRhs());
  if (!a || !b)
    return {};
  bool ofColumn = a.ofColumn || b.ofColumn, ofRow = a.ofRow || b.ofRow;
  bool isReached = a.isReached && b.isReached && areIndependent(a, b);
  OpBuilder &at = builderOf(ofColumn);
  using Predicate = arith::CmpIPredicate;
  auto is = [&](Predicate predicate, Value left, Value right) -> Value {
    return arith::CmpIOp::create(at, loc, predicate, left, right);
  };
  auto both = [&](Value left, Value right) -> Value {
    return arith::AndIOp::create(at, loc, left, right);
  };
  Predicate predicate = op.getPredicate();
  if (predicate == Predicate::sgt || predicate == Predicate::sge) {
    std::swap(a, b);
    predicate = predicate == Predicate::sgt ? Predicate::slt : Predicate::sle;
  }
  auto make = [&](Value mayBeTrue, Value mayBeFalse, Value isTrueOfSome) {
    Bounds bounds = {mayBeTrue, mayBeFalse, ofColumn, ofRow};
    if (isReached)
      bounds.isTrueOfSome = isTrueOfSome, bounds.isFalseOfSome = mayBeFalse;
    return bounds;
  };
  switch (predicate) {
  case Predicate::slt:
  case Predicate::sle: {
    Predicate inverse =
        predicate == Predicate::slt ? Predicate::sge : Predicate::sgt;
    Value holds = is(predicate, a.first, b.second);
    return make(holds, is(inverse, a.second, b.first), holds);
  }
  case Predicate::eq:
  case Predicate::ne: {
    Value meet = both(is(Predicate::sle, a.first, b.second),
                      is(Predicate::sle, b.first, a.second));
    Value isOne = both(is(Predicate::eq, a.first, b.second),
                       is(Predicate::eq, b.first, a.second));
    Value differ = arith::XOrIOp::create(at, loc, isOne, truth(at, true));
    // An end of the one that is an end of the other.
    Value touch;
    for (Value left : {a.first, a.second})
      for (Value right : {b.first, b.second}) {
        Value same = is(Predicate::eq, left, right);
        touch = touch ? arith::OrIOp::create(at, loc, touch, same).getResult()
                      : same;
      }
    Bounds equal = make(meet, differ, touch);
    return predicate == Predicate::eq ? equal : equal.inverted();
  }
  default:
    return {};
  }
}

/// Sums and differences of indices, which leave 64 bits for no length.
RegionBounds::Bounds RegionBounds::add(Operation *op) {
  Bounds a = known.lookup(op->getOperand(0)),
         b = known.lookup(op->getOperand(1));
  if (!a || !b || !op->getResult(0).getType().isIndex())
    return {};
  OpBuilder &at = builderOf(a.ofColumn || b.ofColumn);
  bool isReached = a.isReached && b.isReached && areIndependent(a, b);
  if (isa<arith::SubIOp>(op))
    std::swap(b.first, b.second);
  // Where a sum fits 32 bits, so do its ends.
  bool isLong = ranges.needsLong(op);
  auto create = [&](Value left, Value right) -> Value {
    if (isLong)
      return createLong(at, loc, op, {left, right});
    OperationState state(loc, op->getName(), {left, right}, {left.getType()});
    return at.create(state)->getResult(0);
  };
  return {create(a.first, b.first), create(a.second, b.second),
          a.ofColumn || b.ofColumn, a.ofRow || b.ofRow, isReached};
}

/// A conjunction. It is true of a pair of which the one is, where the other is
/// true of all.
RegionBounds::Bounds RegionBounds::conjoin(const Bounds &a, const Bounds &b) {
  bool ofColumn = a.ofColumn || b.ofColumn;
  OpBuilder &at = builderOf(ofColumn);
  auto both = [&](Value left, Value right) -> Value {
    return arith::AndIOp::create(at, loc, left, right);
  };
  // Null counts as false.
  auto either = [&](Value left, Value right) -> Value {
    if (!left || !right)
      return left ? left : right;
    return arith::OrIOp::create(at, loc, left, right);
  };
  auto whereAll = [&](Value isTrueOfSome, const Bounds &other) -> Value {
    if (!isTrueOfSome)
      return {};
    Value all = arith::XOrIOp::create(at, loc, other.second, truth(at, true));
    return both(isTrueOfSome, all);
  };
  return {both(a.first, b.first),
          either(a.second, b.second),
          ofColumn,
          a.ofRow || b.ofRow,
          /*isReached=*/false,
          either(whereAll(a.isTrueOfSome, b), whereAll(b.isTrueOfSome, a)),
          either(a.isFalseOfSome, b.isFalseOfSome)};
}

/// Logic of truth values, each of which may be unknown.
RegionBounds::Bounds RegionBounds::combine(Operation *op) {
  if (!op->getResult(0).getType().isInteger(1))
    return {};
  Bounds a = known.lookup(op->getOperand(0)),
         b = known.lookup(op->getOperand(1));
  if (isa<arith::XOrIOp>(op)) {
    bool isNegation = a && matchPattern(op->getOperand(1), m_One());
    return isNegation ? a.inverted() : Bounds();
  }
  if (!a && !b)
    return {};
  auto orUnknown = [&](Bounds &bounds) {
    if (!bounds)
      bounds = {truth(outside, true), truth(outside, true)};
  };
  orUnknown(a);
  orUnknown(b);
  if (isa<arith::AndIOp>(op))
    return conjoin(a, b);
  return conjoin(a.inverted(), b.inverted()).inverted();
}

/// One of two numbers or truth values.
RegionBounds::Bounds RegionBounds::choose(arith::SelectOp op) {
  Bounds a = known.lookup(op.getTrueValue()),
         b = known.lookup(op.getFalseValue());
  if (!a || !b)
    return {};
  bool ofColumn = a.ofColumn || b.ofColumn, ofRow = a.ofRow || b.ofRow;
  OpBuilder &at = builderOf(ofColumn);
  if (op.getType().isInteger(1))
    return {arith::OrIOp::create(at, loc, a.first, b.first),
            arith::OrIOp::create(at, loc, a.second, b.second), ofColumn, ofRow};
  return {arith::MinSIOp::create(at, loc, a.first, b.first),
          arith::MaxSIOp::create(at, loc, a.second, b.second), ofColumn, ofRow};
}

/// Nothing where nothing is known of the result.
RegionBounds::Bounds RegionBounds::evaluate(Operation *op) {
  if (auto length = dyn_cast<QueryLengthOp>(op))
    return {place.queries, place.queries, false, false, /*isReached=*/true};
  if (auto length = dyn_cast<KeyLengthOp>(op))
    return {place.keys, place.keys, false, false, /*isReached=*/true};
  if (auto number = dyn_cast<arith::ConstantOp>(op)) {
    auto value = dyn_cast<IntegerAttr>(number.getValue());
    if (!value)
      return {};
    if (value.getType().isInteger(1)) {
      Value isTrue = truth(outside, value.getValue().isOne()),
            isFalse = truth(outside, value.getValue().isZero());
      return {isTrue, isFalse, false, false, false, isTrue, isFalse};
    }
    Value all = constant(outside, value.getInt());
    return {all, all, false, false, /*isReached=*/true};
  }
  if (auto loadOp = dyn_cast<memref::LoadOp>(op))
    return load(loadOp);
  if (auto compareOp = dyn_cast<arith::CmpIOp>(op))
    return compare(compareOp);
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return add(op);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return combine(op);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return choose(select);
  // An index made of an i32 is the same number; of an i1 its truth is known.
  if (auto cast = dyn_cast<arith::IndexCastOp>(op);
      cast && cast.getType().isIndex() &&
      (cast.getIn().getType().isInteger(32) ||
       cast.getIn().getType().isIndex()))
    return known.lookup(cast.getIn());
  return {};
}

RegionBounds::Truth RegionBounds::apply(Region &mask, ValueRange captures) {
  Block &body = mask.front();
  auto arguments = body.getArguments();
  ranges.setIndices(arguments.take_front(4));
  known[arguments[0]] = {place.batch, place.batch, false, false, true};
  known[arguments[1]] = {place.head, place.head, false, false, true};
  rowIndex = arguments[place.rowsAreKeys ? 3 : 2];
  columnIndex = arguments[place.rowsAreKeys ? 2 : 3];
  known[rowIndex] =
      boundsOfIndex(place.firstRow(), place.rows, /*ofColumn=*/false);
  known[columnIndex] =
      boundsOfIndex(place.firstColumn(), place.columns, /*ofColumn=*/true);
  captured.map(arguments.drop_front(4), captures);
  for (Operation &op : body.without_terminator())
    if (Bounds bounds = evaluate(&op))
      known[op.getResult(0)] = bounds;
  Bounds all = known.lookup(body.getTerminator()->getOperand(0));
  return {all.first, all.second, all.isTrueOfSome, all.isFalseOfSome};
}
