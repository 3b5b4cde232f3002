//===- Scalars.cpp - Scalars of an execution of a skeleton ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scalars of an execution in fagpu-check: integers are computed as the
// kernel does, while arguments and what is read from memory are picked from a
// seed. Read `ScalarInputs::evaluate`, then `pick`.
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::fagpu;

/// The same in every process, as a failure has to be.
static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t words[] = {a, b};
  return llvm::xxh3_64bits(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(words), sizeof(words)));
}

int64_t mlir::fagpu::wrapInteger(unsigned width, int64_t value) {
  if (width == 1)
    return value & 1;
  return width < 64 ? llvm::SignExtend64(value, width) : value;
}

int64_t ScalarInputs::pick(Type type, uint64_t key) const {
  uint64_t hash = mix(seeds[mix(0, key) % numClasses], key);
  if (type.isInteger(1))
    return hash & 1;
  if (!type.isIntOrIndex())
    return hash >> 1;
  ArrayRef<int64_t> values = hash & 1 ? counts : lengths;
  return values[(hash >> 8) % values.size()];
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  uint64_t ua = a, ub = b;
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  llvm_unreachable("unknown predicate");
}

/// Quotients and remainders, which have no value where the divisor is zero.
static std::optional<int64_t> divide(Operation *op, unsigned width, int64_t a,
                                     int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return std::nullopt;
  uint64_t ua = width == 32 ? uint32_t(a) : a;
  uint64_t ub = width == 32 ? uint32_t(b) : b;
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](arith::DivUIOp) { return ua / ub; })
      .Case([&](arith::RemUIOp) { return ua % ub; })
      .Case([&](arith::CeilDivUIOp) { return llvm::divideCeil(ua, ub); })
      .Case([&](arith::DivSIOp) { return a / b; })
      .Case([&](arith::RemSIOp) { return a % b; })
      .Case([&](arith::CeilDivSIOp) { return llvm::divideCeilSigned(a, b); })
      .Case([&](arith::FloorDivSIOp) { return llvm::divideFloorSigned(a, b); });
}

static bool isQuotient(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::DivSIOp,
             arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
}

/// Integer arithmetic before it is wrapped; none for anything else.
static std::optional<int64_t> compute(Operation *op, unsigned width,
                                      ArrayRef<int64_t> x) {
  auto shift = [&](int64_t count) { return count & (width == 32 ? 31 : 63); };
  auto bits = [&](int64_t value) -> uint64_t {
    return width == 32 ? uint32_t(value) : uint64_t(value);
  };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](arith::AddIOp) { return uint64_t(x[0]) + uint64_t(x[1]); })
      .Case([&](arith::SubIOp) { return uint64_t(x[0]) - uint64_t(x[1]); })
      .Case([&](arith::MulIOp) { return uint64_t(x[0]) * uint64_t(x[1]); })
      .Case([&](arith::MinSIOp) { return std::min(x[0], x[1]); })
      .Case([&](arith::MaxSIOp) { return std::max(x[0], x[1]); })
      .Case([&](arith::MinUIOp) { return std::min(bits(x[0]), bits(x[1])); })
      .Case([&](arith::MaxUIOp) { return std::max(bits(x[0]), bits(x[1])); })
      .Case([&](arith::AndIOp) { return x[0] & x[1]; })
      .Case([&](arith::OrIOp) { return x[0] | x[1]; })
      .Case([&](arith::XOrIOp) { return x[0] ^ x[1]; })
      .Case([&](arith::ShLIOp) { return bits(x[0]) << shift(x[1]); })
      .Case([&](arith::ShRUIOp) { return bits(x[0]) >> shift(x[1]); })
      .Case([&](arith::ShRSIOp) { return x[0] >> shift(x[1]); })
      .Case([&](arith::SelectOp) { return x[0] ? x[1] : x[2]; })
      .Case([&](arith::CmpIOp op) {
        return compare(op.getPredicate(), x[0], x[1]);
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](Operation *) { return x[0]; })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](Operation *cast) {
        Type from = cast->getOperand(0).getType();
        return from.isInteger(32) ? int64_t(uint32_t(x[0])) : x[0];
      })
      .Case([&](gpu::BlockIdOp) { return 0; })
      .Case([&](gpu::GridDimOp) { return 1; })
      .Default([](Operation *) { return std::nullopt; });
}

/// Floats are picked, not computed, but their comparisons do not contradict one
/// another.
static bool compare(arith::CmpFPredicate predicate, int64_t a, int64_t b) {
  using Predicate = arith::CmpFPredicate;
  switch (predicate) {
  case Predicate::OEQ:
  case Predicate::UEQ:
    return a == b;
  case Predicate::ONE:
  case Predicate::UNE:
    return a != b;
  case Predicate::OLT:
  case Predicate::ULT:
    return a < b;
  case Predicate::OLE:
  case Predicate::ULE:
    return a <= b;
  case Predicate::OGT:
  case Predicate::UGT:
    return a > b;
  case Predicate::OGE:
  case Predicate::UGE:
    return a >= b;
  case Predicate::ORD:
  case Predicate::AlwaysTrue:
    return true;
  case Predicate::UNO:
  case Predicate::AlwaysFalse:
    return false;
  }
  llvm_unreachable("unknown predicate");
}

ScalarRule::ScalarRule(Operation *op) {
  Type type = op->getResult(0).getType();
  if (auto integer = dyn_cast<IntegerType>(type))
    width = integer.getWidth();
  if (isQuotient(op))
    kind = Quotient;
  else if (isa<arith::CmpFOp>(op))
    kind = FloatComparison;
  else if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op) ||
           (isa<arith::ArithDialect>(op->getDialect()) && type.isIntOrIndex()))
    kind = Integer;
}

std::optional<int64_t> ScalarInputs::evaluate(Operation *op, unsigned result,
                                              ArrayRef<int64_t> operands,
                                              ScalarRule rule) const {
  std::optional<int64_t> value;
  switch (rule.kind) {
  case ScalarRule::Quotient:
    value = divide(op, rule.width, operands[0], operands[1]);
    return value ? wrapInteger(rule.width, *value) : value;
  case ScalarRule::Integer:
    if ((value = compute(op, rule.width, operands)))
      return wrapInteger(rule.width, *value);
    break;
  case ScalarRule::FloatComparison:
    return compare(cast<arith::CmpFOp>(op).getPredicate(), operands[0],
                   operands[1]);
  case ScalarRule::Picked:
    break;
  }
  uint64_t key = mix(llvm::xxh3_64bits(op->getName().getStringRef()), result);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      key = number.getValue().bitcastToAPInt().getZExtValue();
  for (int64_t operand : operands)
    key = mix(key, operand);
  return pick(op->getResult(result).getType(), key);
}
