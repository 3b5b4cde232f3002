//===- IndexRanges.cpp - Numbers that a region computes -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of the sizes and indices of a kernel, and which operations on
// them need 64 bits. IntegerRanges.h follows them through arithmetic.
//
//===----------------------------------------------------------------------===//

#include "IndexRanges.h"
#include "IndexWidths.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t leastShort = std::numeric_limits<int32_t>::min(),
                         greatestShort = std::numeric_limits<int32_t>::max();

/// More than any device has.
static constexpr int64_t mostMultiprocessors = 1 << 16;

/// From none to as many as are known.
static IntegerRange getCountRange(Value count) {
  std::optional<int64_t> known = getConstantIntValue(count);
  return known ? IntegerRange{0, *known} : IntegerRange::getOfPosition();
}

IndexRanges::IndexRanges(Value queries, Value keys)
    : queries(getCountRange(queries)), keys(getCountRange(keys)) {
  setLengths(this->queries, this->keys);
}

void IndexRanges::setIndices(ValueRange indices) {
  const IntegerRange positive = {0, greatestShort};
  set(indices[0], positive);
  set(indices[1], positive);
  // Blocks end past the lengths, where nothing depends on what is computed.
  set(indices[2], queries);
  set(indices[3], keys);
  indices[0].getParentBlock()->walk(
      [&](memref::DimOp size) { set(size, positive); });
}

void IndexRanges::setSizes(func::FuncOp function) {
  auto setSize = [&](Value size) { set(size, {0, IndexWidths::shortLimit}); };
  function.walk([&](Operation *op) {
    if (auto dim = dyn_cast<memref::DimOp>(op))
      setSize(dim);
    else if (auto slice = dyn_cast<memref::SubViewOp>(op))
      llvm::for_each(slice.getSizes(), setSize);
    else if (auto number = dyn_cast<fagpu::MultiprocessorsOp>(op))
      set(number, {1, mostMultiprocessors});
  });
}

bool IndexRanges::fits(Value value) {
  return isWithin(value, leastShort, greatestShort);
}

bool IndexRanges::fitsInside(Value value) {
  return isWithin(value, leastShort + 1, greatestShort - 1);
}

bool IndexRanges::readsNegativeAsUnsigned(Operation *op) {
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp,
             arith::ShRUIOp>(op) &&
         !get(op->getOperand(0)).isNonNegative();
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
    return !isWithin(op->getOperand(1), 0, 31);
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
