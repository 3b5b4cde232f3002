//===- KeyComparisons.cpp - Keys against limits on block values -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of RegionOnBlocks that compares keys with a bound, as causal and
// window masks do. The bound is made relative to the block, so that a thread
// compares with constants. Begin with `matchKeyBound`, then `compareKey` and
// `makeRelative`; `compareQuery` is the same where rows are keys.
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

/// `a pred b` as `b pred a`.
static arith::CmpIPredicate reverse(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return predicate;
  }
}

Value RegionOnBlocks::isBelow(Value end) {
  // Relative to the block, so that the comparison is with the column's number.
  Type i32 = inside.getI32Type();
  Value rest = arith::SubIOp::create(inside, loc, end, place.firstColumn());
  rest = arith::IndexCastOp::create(inside, loc, i32, rest);
  Value column = fagpu::IotaOp::create(inside, loc, typeOf(Kind::Matrix, i32),
                                       1, fagpu::IndexPart::all);
  Value limit =
      tensor::SplatOp::create(inside, loc, rest, typeOf(Kind::Matrix, i32));
  return arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, column,
                               limit);
}

/// Whether a block value is the sum or the difference of two, as numbers: of
/// indices, which are held to 32 bits where these suffice.
bool RegionOnBlocks::isSumOfIndices(Value value) {
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp>(value.getDefiningOp()) &&
         !integers.contains(value);
}

/// The parts of a sum or a difference of a block and a scalar; the scalar is
/// null where there is none.
std::pair<Value, tensor::SplatOp> RegionOnBlocks::takeScalar(Operation *op) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (isa<arith::AddIOp>(op) && left.getDefiningOp<tensor::SplatOp>())
    std::swap(left, right);
  return {left, right.getDefiningOp<tensor::SplatOp>()};
}

/// The scalar `s`, an index, where `bound` is the queries plus `s`; null
/// otherwise.
Value RegionOnBlocks::matchQueryOffset(Value bound) {
  if (!isQueryOffset(bound))
    return {};
  SmallVector<Operation *> sums;
  for (; bound != queryIndex; bound = takeScalar(sums.back()).first)
    sums.push_back(bound.getDefiningOp());
  Value offset = arith::ConstantIndexOp::create(outside, loc, 0);
  for (Operation *sum : llvm::reverse(sums)) {
    Value more = asIndex(takeScalar(sum).second.getInput());
    if (isa<arith::AddIOp>(sum))
      offset = arith::AddIOp::create(outside, loc, offset, more);
    else
      offset = arith::SubIOp::create(outside, loc, offset, more);
  }
  return offset;
}

/// A scalar before it was made an i32.
Value RegionOnBlocks::asIndex(Value scalar) {
  if (auto cast = scalar.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isIndex())
    return cast.getIn();
  return arith::IndexCastOp::create(outside, loc, outside.getIndexType(),
                                    scalar);
}

/// `bound` minus the first key of the block, in i32. The bound may be any
/// number, and is replaced by one near 0 or the greatest key that compares with
/// all keys as it does, so that no difference leaves 32 bits.
Value RegionOnBlocks::makeRelative(Value bound) {
  Type i32 = outside.getI32Type();
  // Lengths are at most that, as sums of indices are to fit 32 bits.
  constexpr int64_t greatestKey = int64_t(1) << 30;
  auto clamp = [&](Value value, Value least, Value greatest) -> Value {
    value = arith::MaxSIOp::create(outside, loc, value, least);
    return arith::MinSIOp::create(outside, loc, value, greatest);
  };
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(outside, loc, number);
  };
  Kind kind = kindOf(bound);
  if (Value offset = matchQueryOffset(bound)) {
    // One scalar for all rows: what the rows add to it are immediates.
    Value end =
        arith::AddIOp::create(outside, loc, place.query, index(place.rows));
    offset =
        clamp(offset, arith::SubIOp::create(outside, loc, index(0), end),
              arith::SubIOp::create(outside, loc, index(greatestKey), end));
    Value distance = arith::SubIOp::create(inside, loc, place.query, place.key);
    offset = arith::AddIOp::create(inside, loc, distance, offset);
    offset = arith::IndexCastOp::create(inside, loc, i32, offset);
    auto type = cast<RankedTensorType>(bound.getType());
    Value row =
        fagpu::IotaOp::create(inside, loc, type, 0, fagpu::IndexPart::all);
    return arith::AddIOp::create(
        inside, loc, row, tensor::SplatOp::create(inside, loc, offset, type));
  }
  if (kind == Kind::Scalar) {
    bound = clamp(createIndexOf(outside, loc, bound), index(-1),
                  index(greatestKey));
    bound = arith::SubIOp::create(inside, loc, bound, place.key);
    return arith::IndexCastOp::create(inside, loc, i32, bound);
  }
  auto constant = [&](int64_t number) -> Value {
    return spread(arith::ConstantIntOp::create(outside, loc, i32, number),
                  kind);
  };
  Value firstKey = arith::IndexCastOp::create(inside, loc, i32, place.key);
  bound = clamp(bound, constant(-1), constant(greatestKey));
  return arith::SubIOp::create(
      inside, loc, bound,
      tensor::SplatOp::create(inside, loc, firstKey, bound.getType()));
}

/// Whether the keys compare so with `bound`, a scalar or a value of each row.
Value RegionOnBlocks::compareKey(arith::CmpIPredicate predicate, Value bound) {
  return compareColumn(predicate, makeRelative(bound));
}

/// Whether keys, which are rows, compare so with the queries plus scalars: the
/// columns then compare with the row and one scalar. Any number of these is
/// replaced by one that compares as it does and leaves 32 bits nowhere.
Value RegionOnBlocks::compareQuery(arith::CmpIPredicate predicate,
                                   Value bound) {
  constexpr int64_t most = int64_t(1) << 30;
  auto clamp = [&](OpBuilder &builder, Value value) -> Value {
    Value least = arith::ConstantIndexOp::create(builder, loc, -most),
          greatest = arith::ConstantIndexOp::create(builder, loc, most);
    value = arith::MaxSIOp::create(builder, loc, value, least);
    return arith::MinSIOp::create(builder, loc, value, greatest);
  };
  Value offset = clamp(outside, matchQueryOffset(bound));
  Value first = arith::SubIOp::create(outside, loc, place.key, offset);
  first = clamp(inside, arith::SubIOp::create(inside, loc, first, place.query));
  Type i32 = inside.getI32Type();
  first = arith::IndexCastOp::create(inside, loc, i32, first);
  auto type = typeOf(Kind::Row, i32);
  Value row =
      fagpu::IotaOp::create(inside, loc, type, 0, fagpu::IndexPart::all);
  Value limit = arith::AddIOp::create(
      inside, loc, row, tensor::SplatOp::create(inside, loc, first, type));
  return compareColumn(reverse(predicate), limit);
}

/// Whether the columns compare so with a number relative to the first one. The
/// comparison is with the column's number, and one of `slt` and `sge` where it
/// is of order.
Value RegionOnBlocks::compareColumn(arith::CmpIPredicate predicate,
                                    Value relative) {
  if (predicate == arith::CmpIPredicate::sle ||
      predicate == arith::CmpIPredicate::sgt) {
    predicate = predicate == arith::CmpIPredicate::sle
                    ? arith::CmpIPredicate::slt
                    : arith::CmpIPredicate::sge;
    Type type = relative.getType();
    TypedAttr one = inside.getI32IntegerAttr(1);
    if (auto tensorType = dyn_cast<RankedTensorType>(type))
      one = DenseElementsAttr::get(tensorType, Attribute(one));
    relative = arith::AddIOp::create(
        inside, loc, relative, arith::ConstantOp::create(inside, loc, one));
  }
  Kind kind = join(kindOf(relative), Kind::Column);
  Value column =
      fagpu::IotaOp::create(inside, loc, typeOf(kind, inside.getI32Type()),
                            kind == Kind::Matrix, fagpu::IndexPart::all);
  return arith::CmpIOp::create(inside, loc, predicate, column,
                               spread(relative, kind));
}

/// A comparison of the keys with what does not depend on them; null for any
/// other operation.
Value RegionOnBlocks::matchKeyBound(Operation *op, ValueRange operands) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || compare.getPredicate() >= arith::CmpIPredicate::ult)
    return {};
  bool isLeft = operands[0] == keyIndex;
  if (!isLeft && operands[1] != keyIndex)
    return {};
  Value bound = operands[isLeft];
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (!isLeft)
    predicate = reverse(predicate);
  // What 32 bits hold compares without a scalar for each block.
  if (place.rowsAreKeys)
    return isQueryOffset(bound) && !ranges.fits(op->getOperand(isLeft))
               ? compareQuery(predicate, bound)
               : Value();
  Kind kind = kindOf(bound);
  if (kind == Kind::Column || kind == Kind::Matrix)
    return {};
  return compareKey(predicate, bound);
}
