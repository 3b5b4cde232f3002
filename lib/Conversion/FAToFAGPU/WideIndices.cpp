//===- WideIndices.cpp - Indices of 64 bits in score and mask regions -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

bool RegionOnBlocks::isWideBlock(Value value) {
  return isa<RankedTensorType>(value.getType()) &&
         getElementTypeOrSelf(value).isInteger(64);
}

/// Whether the operation computes on indices of 64 bits: a product or a shift
/// may be the first that needs them, what follows keeps them.
bool RegionOnBlocks::isWide(Operation *op, ValueRange operands) {
  for (auto [operand, original] : llvm::zip_equal(operands, op->getOperands()))
    if (original.getType().isIndex() && isWideBlock(operand))
      return true;
  return isa<arith::MulIOp, arith::ShLIOp>(op) &&
         op->getResult(0).getType().isIndex() &&
         bits.get(op->getResult(0)) > 31;
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

/// A cast from or to an index, whose elements are integers in a block.
Value RegionOnBlocks::castIndex(Operation *cast, Value value, Kind kind) {
  Type to = typeOf(kind, cast->getResult(0).getType()).getElementType(),
       from = getElementTypeOrSelf(value);
  bool isWideIndex =
      cast->getResult(0).getType().isIndex() && isWideBlock(value);
  if (from == to || isWideIndex)
    return value;
  OpBuilder &builder = builderOf(kind);
  RankedTensorType type = typeOf(kind, to);
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, type, value);
  if (isa<arith::IndexCastUIOp>(cast))
    return arith::ExtUIOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}
