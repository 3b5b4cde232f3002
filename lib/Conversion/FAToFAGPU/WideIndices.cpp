//===- WideIndices.cpp - Indices of 64 bits in score and mask regions -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "fa/Support/IntegerDivision.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

bool RegionOnBlocks::isWideBlock(Value value) {
  return isa<RankedTensorType>(value.getType()) &&
         getElementTypeOrSelf(value).isInteger(64);
}

/// Whether a block value is the queries plus scalars.
bool RegionOnBlocks::isQueryOffset(Value value) {
  while (value != queryIndex && isSumOfIndices(value)) {
    auto [block, scalar] = takeScalar(value.getDefiningOp());
    if (!scalar)
      return false;
    value = block;
  }
  return value == queryIndex;
}

/// Whether a sum is the queries plus scalars, and keys are all that is compared
/// with it: the scalars are then held to what keys can be.
bool RegionOnBlocks::isKeyBound(Operation *op, ValueRange operands) {
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return false;
  bool isLeft = isQueryOffset(operands[0]);
  if (!isLeft && (isa<arith::SubIOp>(op) || !isQueryOffset(operands[1])))
    return false;
  return operands[isLeft].getType().isIndex() &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto compare = dyn_cast<arith::CmpIOp>(user);
           return compare &&
                  compare.getPredicate() < arith::CmpIPredicate::ult &&
                  llvm::is_contained(user->getOperands(), keyArgument);
         });
}

/// Whether the operation computes on indices of 64 bits: the first that needs
/// them does, what follows keeps them.
bool RegionOnBlocks::isWide(Operation *op, ValueRange operands) {
  for (auto [operand, original] : llvm::zip_equal(operands, op->getOperands()))
    if (original.getType().isIndex() && isWideBlock(operand))
      return true;
  auto isLong = [&](Value value) {
    return value.getType().isIndex() && !ranges.fits(value);
  };
  // What is held to 32 bits compares as before with what is never at their
  // ends, and divides it.
  if (isa<arith::CmpIOp>(op) || isDivision(op)) {
    Value first = op->getOperand(0), last = op->getOperand(1);
    bool isHeld = isLong(last) && ranges.fitsInside(first);
    if (isa<arith::CmpIOp>(op))
      isHeld |= isLong(first) && ranges.fitsInside(last);
    if (isHeld)
      return ranges.readsNegativeAsUnsigned(op);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return false;
  return ranges.needsLong(op) && !isKeyBound(op, operands);
}

/// An index value as i64, repeated along what `kind` has beyond it.
Value RegionOnBlocks::widen(Value value, Kind kind) {
  Type i64 = outside.getI64Type();
  Kind from = kindOf(value);
  if (from == Kind::Scalar)
    value = arith::IndexCastOp::create(outside, loc, i64, value);
  else if (!isWideBlock(value))
    value =
        arith::ExtSIOp::create(builderOf(from), loc, typeOf(from, i64), value);
  return spread(value, kind);
}

/// A cast from or to an index, whose elements are integers in a block. One of
/// 32 bits that is read as unsigned is an index of 64 where it may be below 0.
Value RegionOnBlocks::castIndex(Operation *cast, Value value, Kind kind) {
  Type given = cast->getOperand(0).getType(),
       made = cast->getResult(0).getType(), from = getElementTypeOrSelf(value);
  // An index keeps its sign in the 64 bits that it has.
  bool isUnsigned = isa<arith::IndexCastUIOp>(cast) && !given.isIndex();
  bool isWideIndex = made.isIndex() &&
                     (isWideBlock(value) || !ranges.fits(cast->getResult(0)));
  Type to =
      isWideIndex ? outside.getI64Type() : typeOf(kind, made).getElementType();
  if (from == to)
    return value;
  OpBuilder &builder = builderOf(kind);
  RankedTensorType type = typeOf(kind, to);
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, type, value);
  if (isUnsigned)
    return arith::ExtUIOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}
