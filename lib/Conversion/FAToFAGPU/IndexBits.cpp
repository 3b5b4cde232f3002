//===- IndexBits.cpp - Sizes of the indices of a region -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexBits.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// Lengths that are not known are below 2 to this.
static constexpr int64_t lengthBits = 30;
static constexpr int64_t mostBits = 64;

static int64_t bitsOfNumber(int64_t number) {
  uint64_t size = number < 0 ? -static_cast<uint64_t>(number) : number;
  return llvm::Log2_64_Ceil(size + 1);
}

static int64_t bitsOfLength(Value length) {
  std::optional<int64_t> number = getConstantIntValue(length);
  return number ? bitsOfNumber(*number) : lengthBits;
}

/// An index is taken for a number of 32 bits.
static int64_t bitsOfType(Type type) {
  return type.isIndex() ? 31 : type.getIntOrFloatBitWidth() - 1;
}

bool mlir::fa::isReadAsUnsigned(Operation *op) {
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp,
             arith::ShRUIOp>(op);
}

bool mlir::fa::isNeverNegative(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return *number >= 0;
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // A score comes before the four indices; what is captured may be negative.
    bool isScore = !argument.getOwner()->getArgument(0).getType().isIndex();
    return argument.getArgNumber() < (isScore ? 5 : 4);
  }
  auto is = [](Value operand) { return isNeverNegative(operand); };
  if (isa<QueryLengthOp, KeyLengthOp>(op))
    return true;
  if (isa<arith::AndIOp, arith::MaxSIOp>(op))
    return llvm::any_of(op->getOperands(), is);
  if (isReadAsUnsigned(op))
    return is(op->getOperand(0));
  if (isa<arith::SelectOp>(op))
    return is(op->getOperand(1)) && is(op->getOperand(2));
  // Those of fewer bits than an index wrap.
  if (isa<arith::AddIOp, arith::MulIOp, arith::IndexCastOp>(op) &&
      !value.getType().isIndex())
    return false;
  return isa<arith::AddIOp, arith::MulIOp, arith::OrIOp, arith::XOrIOp,
             arith::MinSIOp, arith::MinUIOp, arith::MaxUIOp, arith::DivSIOp,
             arith::FloorDivSIOp, arith::CeilDivSIOp, arith::RemSIOp,
             arith::ShRSIOp, arith::IndexCastOp>(op) &&
         llvm::all_of(op->getOperands(), is);
}

IndexBits::IndexBits(Value queries, Value keys)
    : queryBits(bitsOfLength(queries)), keyBits(bitsOfLength(keys)) {}

int64_t IndexBits::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  int64_t bits = std::min(compute(value), mostBits);
  known[value] = bits;
  return bits;
}

int64_t IndexBits::compute(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return bitsOfNumber(*number);
  Operation *op = value.getDefiningOp();
  if (!op)
    return bitsOfType(value.getType());
  auto of = [&](unsigned operand) { return get(op->getOperand(operand)); };
  if (isa<QueryLengthOp>(op))
    return queryBits;
  if (isa<KeyLengthOp>(op))
    return keyBits;
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::max(of(0), of(1)) + 1;
  if (isa<arith::MulIOp>(op))
    return of(0) + of(1);
  if (isa<arith::ShLIOp>(op)) {
    std::optional<int64_t> shift = getConstantIntValue(op->getOperand(1));
    return shift ? of(0) + std::clamp<int64_t>(*shift, 0, mostBits) : mostBits;
  }
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp, arith::FloorDivSIOp, arith::ShRSIOp,
          arith::ShRUIOp>(op))
    return of(0);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return std::min(of(0), of(1));
  if (isa<arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp,
          arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return std::max(of(0), of(1));
  if (isa<arith::SelectOp>(op))
    return std::max(of(1), of(2));
  // Read as unsigned, a number below 0 has all the bits of its type.
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op) &&
      op->getOperand(0).getType().isInteger() &&
      !isNeverNegative(op->getOperand(0)))
    return op->getOperand(0).getType().getIntOrFloatBitWidth();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return value.getType().isIndex()
               ? of(0)
               : std::min(of(0), bitsOfType(value.getType()));
  return bitsOfType(value.getType());
}
