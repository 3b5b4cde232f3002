//===- ArithSemantics.cpp - The arith dialect in the executor -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each operation of arith computes, as a function on one element; the
// executor applies it to scalars, arrays and lanes alike. Integers wrap at
// their width, floats are doubles that the policy rounds. Read
// `addIntegerArithmetic` as the pattern of all.
//
//===----------------------------------------------------------------------===//

#include "ConstantArray.h"
#include "IntegerKernels.h"
#include "fa/Executor/ProgramBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static LogicalResult compileConstant(arith::ConstantOp op,
                                     ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getResult());
  if (isSlotType(op.getType())) {
    Slot value = getSlot(op.getValue());
    builder.emit([result, value](Frame &frame) {
      frame.slot(result) = value;
      return success();
    });
    return success();
  }
  if (failed(checkElementTypes(op)))
    return failure();
  FailureOr<ArrayRefPtr> array = makeConstantArray(op, op.getValue());
  if (failed(array))
    return failure();
  // Each execution hands out a view; updating it copies, as `array` stays.
  builder.emit([result, array = *array](Frame &frame) {
    frame[result].object = array;
    return success();
  });
  return success();
}

static LogicalResult compileConstantLanes(arith::ConstantOp op,
                                          LaneBuilder &builder) {
  if (failed(checkElementTypes(op)))
    return failure();
  if (!isSlotType(op.getType()))
    return refuse(op, "of a vector or tensor in a scalar body");
  builder.setConstant(op.getResult(), getSlot(op.getValue()));
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static void addIntegerArithmetic(Semantics &semantics) {
  using U = uint64_t;
  addWrapping<arith::AddIOp>(semantics, [](U a, U b) { return a + b; });
  addWrapping<arith::SubIOp>(semantics, [](U a, U b) { return a - b; });
  addWrapping<arith::MulIOp>(semantics, [](U a, U b) { return a * b; });
  addWrapping<arith::AndIOp>(semantics, [](U a, U b) { return a & b; });
  addWrapping<arith::OrIOp>(semantics, [](U a, U b) { return a | b; });
  addWrapping<arith::XOrIOp>(semantics, [](U a, U b) { return a ^ b; });
  using I = int64_t;
  addSigned<arith::MaxSIOp>(semantics, [](I a, I b) { return std::max(a, b); });
  addSigned<arith::MinSIOp>(semantics, [](I a, I b) { return std::min(a, b); });
  addUnsigned<arith::MaxUIOp>(semantics,
                              [](U a, U b) { return std::max(a, b); });
  addUnsigned<arith::MinUIOp>(semantics,
                              [](U a, U b) { return std::min(a, b); });
  addSignedDivision<arith::DivSIOp>(semantics, divideSigned);
  addSignedDivision<arith::RemSIOp>(semantics, remainderSigned);
  addSignedDivision<arith::FloorDivSIOp>(semantics, floorDivide);
  addSignedDivision<arith::CeilDivSIOp>(semantics, ceilDivide);
  addUnsignedDivision<arith::DivUIOp>(semantics,
                                      [](U a, U b) { return a / b; });
  addUnsignedDivision<arith::RemUIOp>(semantics,
                                      [](U a, U b) { return a % b; });
  addUnsignedDivision<arith::CeilDivUIOp>(semantics, ceilDivideUnsigned);
}

/// Products and sums of which there is more than their type holds.
template <typename OpT, typename Fn>
static void addExtended(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return Kernel([fn, width](ArrayRef<const Slot *> in, ArrayRef<Slot *> out,
                              int64_t count) {
      auto toBits = [&](Slot slot) {
        return APInt(width, asUnsigned(slot.integer, width));
      };
      auto toSlot = [](const APInt &bits) {
        return Slot::ofInteger(wrapInteger(
            static_cast<int64_t>(bits.getZExtValue()), bits.getBitWidth()));
      };
      for (int64_t i = 0; i < count; ++i) {
        auto [low, high] = fn(toBits(in[0][i]), toBits(in[1][i]));
        out[0][i] = toSlot(low);
        out[1][i] = toSlot(high);
      }
      return success();
    });
  });
}

static void addExtendedArithmetic(Semantics &semantics) {
  using Pair = std::pair<APInt, APInt>;
  addExtended<arith::AddUIExtendedOp>(
      semantics, [](const APInt &a, const APInt &b) {
        bool overflow = false;
        APInt sum = a.uadd_ov(b, overflow);
        return Pair(sum, APInt(/*numBits=*/1, overflow));
      });
  addExtended<arith::MulSIExtendedOp>(
      semantics, [](const APInt &a, const APInt &b) {
        return Pair(a * b, llvm::APIntOps::mulhs(a, b));
      });
  addExtended<arith::MulUIExtendedOp>(
      semantics, [](const APInt &a, const APInt &b) {
        return Pair(a * b, llvm::APIntOps::mulhu(a, b));
      });
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// The ordered part of a comparison; `unordered` is its value if either side is
/// NaN.
static bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  llvm_unreachable("unknown predicate");
}

/// maximumf and minimumf: NaN if either is, and -0 below +0.
static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
static double minimum(double a, double b) { return -maximum(-a, -b); }

template <typename OpT, typename Fn>
static void addRealBinary(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>(
      [fn](OpT) -> FailureOr<Kernel> { return makeRealBinary(fn); });
}

static void addFloatArithmetic(Semantics &semantics) {
  using D = double;
  addRealBinary<arith::AddFOp>(semantics, [](D a, D b) { return a + b; });
  addRealBinary<arith::SubFOp>(semantics, [](D a, D b) { return a - b; });
  addRealBinary<arith::MulFOp>(semantics, [](D a, D b) { return a * b; });
  addRealBinary<arith::DivFOp>(semantics, [](D a, D b) { return a / b; });
  addRealBinary<arith::RemFOp>(semantics,
                               [](D a, D b) { return std::fmod(a, b); });
  addRealBinary<arith::MaximumFOp>(semantics, maximum);
  addRealBinary<arith::MinimumFOp>(semantics, minimum);
  addRealBinary<arith::MaxNumFOp>(semantics,
                                  [](D a, D b) { return std::fmax(a, b); });
  addRealBinary<arith::MinNumFOp>(semantics,
                                  [](D a, D b) { return std::fmin(a, b); });
  semantics.addElementwise<arith::NegFOp>([](arith::NegFOp) {
    return FailureOr<Kernel>(makeRealUnary([](D a) { return -a; }));
  });
}

//===----------------------------------------------------------------------===//
// Comparisons and select
//===----------------------------------------------------------------------===//

static FailureOr<Kernel> makeCompareFloats(arith::CmpFOp op) {
  arith::CmpFPredicate predicate = op.getPredicate();
  return makeBinary([predicate](Slot a, Slot b) {
    return Slot::ofInteger(compareFloats(predicate, a.real, b.real));
  });
}

static FailureOr<Kernel> makeSelect(arith::SelectOp) {
  return makeTernary(
      [](Slot condition, Slot a, Slot b) { return condition.integer ? a : b; });
}

/// One condition chooses a whole value, which then need not be copied; a shaped
/// condition chooses element by element.
static LogicalResult compileSelect(arith::SelectOp op,
                                   ProgramBuilder &builder) {
  if (isa<ShapedType>(op.getCondition().getType()))
    return builder.compileElementwise(op, [](Operation *select) {
      return makeSelect(cast<arith::SelectOp>(select));
    });
  unsigned condition = builder.getRegister(op.getCondition());
  unsigned a = builder.getRegister(op.getTrueValue());
  unsigned b = builder.getRegister(op.getFalseValue());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    frame[result] = frame[frame.integer(condition) ? a : b];
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Between float types nothing happens here: rounding is the policy's.
template <typename OpT> static void addFloatCast(Semantics &semantics) {
  semantics.addElementwise<OpT>([](OpT) -> FailureOr<Kernel> {
    return makeUnary([](Slot a) { return a; });
  });
}

/// Float to integer, toward zero; out of range and NaN are poison in MLIR and
/// give the nearest bound or 0 here.
static int64_t toInteger(double value, double low, double high) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  if (value >= 9223372036854775808.0)
    return static_cast<int64_t>(static_cast<uint64_t>(
        std::min(std::min(value, high), 18446744073709549568.0)));
  return static_cast<int64_t>(std::max(low, std::min(value, high)));
}

static FailureOr<Kernel> makeFloatToSigned(arith::FPToSIOp op) {
  unsigned width = getIntegerWidth(getElementTypeOrSelf(op.getType()));
  double low = -std::ldexp(1.0, width - 1);
  // The largest double not above 2^(width - 1) - 1.
  double high = width > 53 ? std::nextafter(-low, 0.0) : -low - 1;
  return makeUnary([=](Slot a) {
    return Slot::ofInteger(wrapInteger(toInteger(a.real, low, high), width));
  });
}

static FailureOr<Kernel> makeFloatToUnsigned(arith::FPToUIOp op) {
  unsigned width = getIntegerWidth(getElementTypeOrSelf(op.getType()));
  double limit = std::ldexp(1.0, width);
  double high = width > 53 ? std::nextafter(limit, 0.0) : limit - 1;
  return makeUnary([=](Slot a) {
    return Slot::ofInteger(wrapInteger(toInteger(a.real, 0, high), width));
  });
}

static FailureOr<Kernel> makeSignedToFloat(arith::SIToFPOp op) {
  unsigned width = getOperandWidth(op);
  return makeUnary([width](Slot a) {
    return Slot::ofReal(static_cast<double>(asSigned(a.integer, width)));
  });
}

static FailureOr<Kernel> makeUnsignedToFloat(arith::UIToFPOp op) {
  unsigned width = getOperandWidth(op);
  return makeUnary([width](Slot a) {
    return Slot::ofReal(static_cast<double>(asUnsigned(a.integer, width)));
  });
}

/// Between floats and integers the bits are those of the declared type, so this
/// is the one operation that rounds in every policy.
static FailureOr<Kernel> makeBitcast(arith::BitcastOp op) {
  Type from = getElementTypeOrSelf(op.getIn().getType());
  Type to = getElementTypeOrSelf(op.getType());
  auto fromReal = dyn_cast<FloatType>(from), toReal = dyn_cast<FloatType>(to);
  unsigned width = from.getIntOrFloatBitWidth();
  return makeUnary([=](Slot a) {
    if (from == to)
      return a;
    uint64_t bits = fromReal ? floatToBits(a.real, fromReal.getFloatSemantics())
                             : asUnsigned(a.integer, width);
    if (toReal)
      return Slot::ofReal(floatFromBits(bits, toReal.getFloatSemantics()));
    return Slot::ofInteger(wrapInteger(static_cast<int64_t>(bits), width));
  });
}

static void addCasts(Semantics &semantics) {
  addIntegerCast<arith::ExtSIOp>(semantics, /*isSigned=*/true);
  addIntegerCast<arith::ExtUIOp>(semantics, /*isSigned=*/false);
  addIntegerCast<arith::TruncIOp>(semantics, /*isSigned=*/true);
  addIntegerCast<arith::IndexCastOp>(semantics, /*isSigned=*/true);
  addIntegerCast<arith::IndexCastUIOp>(semantics, /*isSigned=*/false);
  addFloatCast<arith::ExtFOp>(semantics);
  addFloatCast<arith::TruncFOp>(semantics);
  semantics.addElementwise<arith::FPToSIOp>(makeFloatToSigned);
  semantics.addElementwise<arith::FPToUIOp>(makeFloatToUnsigned);
  semantics.addElementwise<arith::SIToFPOp>(makeSignedToFloat);
  semantics.addElementwise<arith::UIToFPOp>(makeUnsignedToFloat);
  semantics.addElementwise<arith::BitcastOp>(makeBitcast);
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void executor::addArithSemantics(Semantics &semantics) {
  semantics.add<arith::ConstantOp>(compileConstant);
  semantics.addLanes<arith::ConstantOp>(compileConstantLanes);
  addIntegerArithmetic(semantics);
  addExtendedArithmetic(semantics);
  addLeftShift<arith::ShLIOp>(semantics);
  addRightShifts<arith::ShRUIOp, arith::ShRSIOp>(semantics);
  addFloatArithmetic(semantics);
  addCasts(semantics);
  addComparison<arith::CmpIOp>(
      semantics, [](arith::CmpIOp op) { return op.getPredicate(); });
  semantics.addElementwise<arith::CmpFOp>(makeCompareFloats);
  semantics.addElementwise<arith::SelectOp>(makeSelect);
  semantics.add<arith::SelectOp>(compileSelect);
}
