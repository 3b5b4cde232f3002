//===- IndexRanges.cpp - Numbers that a region computes -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval analysis of the integers of a score or mask region, of a kernel or
// of its launch: which values fit 32 bits, which may wrap. Upstream's
// InferIntRangeInterface does the operations. Read `compute`; the rest are
// questions to its results.
//
//===----------------------------------------------------------------------===//

#include "IndexRanges.h"
#include "IndexWidths.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t leastShort = std::numeric_limits<int32_t>::min(),
                         greatestShort = std::numeric_limits<int32_t>::max();

static ConstantIntRanges makeRange(int64_t least, int64_t greatest,
                                   unsigned bits = 64) {
  return ConstantIntRanges::fromSigned(
      APInt(bits, static_cast<uint64_t>(least), /*isSigned=*/true),
      APInt(bits, static_cast<uint64_t>(greatest), /*isSigned=*/true));
}

IndexRanges::IndexRanges(Value queries, Value keys)
    : queries(getConstantIntValue(queries).value_or(greatestLength)),
      keys(getConstantIntValue(keys).value_or(greatestLength)) {}

void IndexRanges::set(Value value, int64_t least, int64_t greatest) {
  unsigned bits = ConstantIntRanges::getStorageBitwidth(value.getType());
  known.insert_or_assign(value, makeRange(least, greatest, bits));
}

void IndexRanges::setIndices(ValueRange indices) {
  set(indices[0], 0, greatestShort);
  set(indices[1], 0, greatestShort);
  // Blocks end past the lengths, where nothing depends on what is computed.
  set(indices[2], 0, queries);
  set(indices[3], 0, keys);
}

void IndexRanges::setSizes(func::FuncOp function) {
  auto setSize = [&](Value size) { set(size, 0, IndexWidths::shortLimit); };
  function.walk([&](Operation *op) {
    if (auto dim = dyn_cast<memref::DimOp>(op))
      setSize(dim);
    else if (auto slice = dyn_cast<memref::SubViewOp>(op))
      llvm::for_each(slice.getSizes(), setSize);
  });
}

ConstantIntRanges IndexRanges::get(Value value) {
  visitOperandsFirst(
      value, [&](Value next) { return known.contains(next); },
      [&](Value next) { known.insert({next, compute(next)}); });
  return known.at(value);
}

ConstantIntRanges IndexRanges::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<QueryLengthOp>(op))
    return makeRange(0, queries);
  if (isa_and_nonnull<KeyLengthOp>(op))
    return makeRange(0, keys);
  if (isa_and_nonnull<memref::DimOp>(op))
    return makeRange(0, greatestShort);
  ConstantIntRanges range = ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
  if (isa_and_nonnull<math::AbsIOp>(op)) {
    ConstantIntRanges operand = get(op->getOperand(0));
    APInt size =
        llvm::APIntOps::umax(operand.smin().abs(), operand.smax().abs());
    return ConstantIntRanges::fromUnsigned(APInt::getZero(size.getBitWidth()),
                                           size);
  }
  auto inferable = dyn_cast_if_present<InferIntRangeInterface>(op);
  if (!inferable || !llvm::all_of(op->getOperandTypes(), [](Type type) {
        return type.isIntOrIndex();
      }))
    return range;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  inferable.inferResultRanges(
      operands,
      [&](Value, const ConstantIntRanges &result) { range = result; });
  return range;
}

bool IndexRanges::isWithin(Value value, int64_t least, int64_t greatest) {
  ConstantIntRanges range = get(value);
  return range.smin().sge(least) && range.smax().sle(greatest);
}

bool IndexRanges::fits(Value value) {
  return isWithin(value, leastShort, greatestShort);
}

bool IndexRanges::fitsInside(Value value) {
  ConstantIntRanges range = get(value);
  return range.smin().sgt(leastShort) && range.smax().slt(greatestShort);
}

bool IndexRanges::readsNegativeAsUnsigned(Operation *op) {
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp,
             arith::ShRUIOp>(op) &&
         get(op->getOperand(0)).smin().isNegative();
}

bool IndexRanges::mayWrap(Operation *op) {
  ConstantIntRanges a = get(op->getOperand(0)), b = get(op->getOperand(1));
  // Twice the bits hold whatever comes of two numbers.
  unsigned bits = a.smin().getBitWidth(), wide = 2 * bits;
  auto leaves = [&](const APInt &left, const APInt &right) {
    APInt x = left.sext(wide), y = right.sext(wide);
    APInt result = isa<arith::MulIOp>(op)   ? x * y
                   : isa<arith::SubIOp>(op) ? x - y
                                            : x + y;
    return result.getSignificantBits() > bits;
  };
  return leaves(a.smin(), b.smin()) || leaves(a.smin(), b.smax()) ||
         leaves(a.smax(), b.smin()) || leaves(a.smax(), b.smax());
}

bool IndexRanges::needsLong(Operation *op) {
  auto isLong = [&](Value value) {
    return value.getType().isIndex() && !fits(value);
  };
  if (llvm::any_of(op->getOperands(), isLong) ||
      llvm::any_of(op->getResults(), isLong))
    return true;
  if (op->getNumOperands() == 0 || !op->getOperand(0).getType().isIndex())
    return false;
  if (readsNegativeAsUnsigned(op))
    return true;
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return get(op->getOperand(1)).umax().uge(32);
  return isa<math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::IPowIOp>(op);
}

Value mlir::fa::createLong(OpBuilder &builder, Location loc, Operation *like,
                           ValueRange operands) {
  Type i64 = builder.getI64Type(), type = like->getResult(0).getType();
  SmallVector<Value> integers(operands);
  // Constants stay constants.
  for (Value &integer : integers)
    if (integer.getType().isIndex())
      integer = builder.createOrFold<arith::IndexCastOp>(loc, i64, integer);
  OperationState state(loc, like->getName(), integers,
                       {type.isIndex() ? i64 : type}, like->getAttrs());
  Value result = builder.create(state)->getResult(0);
  if (type.isIndex())
    result = arith::IndexCastOp::create(builder, loc, type, result);
  return result;
}
