//===- ArithSemantics.cpp - The arith dialect in the executor -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHelpers.h"
#include "fa/Executor/ProgramBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
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
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !isSlotType(elements.getElementType()))
    return refuse(op, "of this type");
  ArrayRefPtr array = makeArray(elements.getType().getShape());
  Slot *target = array->data();
  if (elements.isSplat())
    std::fill_n(target, array->getNumElements(),
                getSlot(cast<TypedAttr>(elements.getSplatValue<Attribute>())));
  else
    for (Attribute value : elements.getValues<Attribute>())
      *target++ = getSlot(cast<TypedAttr>(value));
  // Each execution hands out a view; updating it copies, as `array` stays.
  builder.emit([result, array](Frame &frame) {
    frame[result].object = array;
    return success();
  });
  return success();
}

static LogicalResult compileConstantLanes(arith::ConstantOp op,
                                          LaneBuilder &builder) {
  if (!isSlotType(op.getType()))
    return refuse(op, "of this type in a scalar body");
  builder.setConstant(op.getResult(), getSlot(op.getValue()));
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// `fn(uint64, uint64)` modulo 2^width: add, sub, mul and the bit operations.
template <typename OpT, typename Fn>
static void addWrapping(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([fn, width](Slot a, Slot b) {
      uint64_t value = fn(static_cast<uint64_t>(a.integer),
                          static_cast<uint64_t>(b.integer));
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    });
  });
}

/// `fn(int64, int64)` or `fn(uint64, uint64)` of the values at their width.
template <typename OpT, typename Fn>
static void addSigned(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([fn, width](Slot a, Slot b) {
      int64_t value =
          fn(asSigned(a.integer, width), asSigned(b.integer, width));
      return Slot::ofInteger(wrapInteger(value, width));
    });
  });
}
template <typename OpT, typename Fn>
static void addUnsigned(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([fn, width](Slot a, Slot b) {
      uint64_t value =
          fn(asUnsigned(a.integer, width), asUnsigned(b.integer, width));
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    });
  });
}

/// A division: a zero divisor is an error at the operation.
template <typename OpT, typename Fn>
static void addDivision(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    Operation *location = op;
    return Kernel([fn, width, location](ArrayRef<const Slot *> in,
                                        ArrayRef<Slot *> out,
                                        int64_t count) -> LogicalResult {
      for (int64_t i = 0; i < count; ++i) {
        if (in[1][i].integer == 0)
          return location->emitError("integer division by zero");
        int64_t value = fn(in[0][i].integer, in[1][i].integer, width);
        out[0][i].integer = wrapInteger(value, width);
      }
      return success();
    });
  });
}

/// Quotients that cannot trap: the most negative value by -1 wraps.
static int64_t divideSigned(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
static int64_t remainderSigned(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}
static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = divideSigned(a, b);
  return remainderSigned(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1
                                                          : quotient;
}
static int64_t ceilDivide(int64_t a, int64_t b) {
  int64_t quotient = divideSigned(a, b);
  return remainderSigned(a, b) != 0 && (a < 0) == (b < 0) ? quotient + 1
                                                          : quotient;
}

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
  auto withSigns = [](I (*fn)(I, I)) {
    return [fn](I a, I b, unsigned width) {
      return fn(asSigned(a, width), asSigned(b, width));
    };
  };
  addDivision<arith::DivSIOp>(semantics, withSigns(divideSigned));
  addDivision<arith::RemSIOp>(semantics, withSigns(remainderSigned));
  addDivision<arith::FloorDivSIOp>(semantics, withSigns(floorDivide));
  addDivision<arith::CeilDivSIOp>(semantics, withSigns(ceilDivide));
  auto withoutSigns = [](U (*fn)(U, U)) {
    return [fn](I a, I b, unsigned width) {
      return static_cast<I>(fn(asUnsigned(a, width), asUnsigned(b, width)));
    };
  };
  addDivision<arith::DivUIOp>(semantics,
                              withoutSigns([](U a, U b) { return a / b; }));
  addDivision<arith::RemUIOp>(semantics,
                              withoutSigns([](U a, U b) { return a % b; }));
  addDivision<arith::CeilDivUIOp>(
      semantics, withoutSigns([](U a, U b) { return a / b + (a % b != 0); }));
}

/// Shifts by the width or more are poison in MLIR; here they shift everything
/// out.
static void addShifts(Semantics &semantics) {
  semantics.addElementwise<arith::ShLIOp>([](arith::ShLIOp op) {
    unsigned width = getOperandWidth(op);
    return FailureOr<Kernel>(makeBinary([width](Slot a, Slot b) {
      uint64_t by = asUnsigned(b.integer, width);
      uint64_t value = by >= width ? 0 : static_cast<uint64_t>(a.integer) << by;
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    }));
  });
  addUnsigned<arith::ShRUIOp>(semantics, [](uint64_t a, uint64_t by) {
    return by >= 64 ? 0 : a >> by;
  });
  addSigned<arith::ShRSIOp>(semantics, [](int64_t a, int64_t by) {
    return a >> (by < 0 || by > 63 ? 63 : by);
  });
}

static bool compareIntegers(arith::CmpIPredicate predicate, Slot a, Slot b,
                            unsigned width) {
  int64_t x = asSigned(a.integer, width), y = asSigned(b.integer, width);
  uint64_t ux = asUnsigned(a.integer, width), uy = asUnsigned(b.integer, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  llvm_unreachable("unknown predicate");
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

static FailureOr<Kernel> makeCompareIntegers(arith::CmpIOp op) {
  unsigned width = getOperandWidth(op);
  arith::CmpIPredicate predicate = op.getPredicate();
  return makeBinary([width, predicate](Slot a, Slot b) {
    return Slot::ofInteger(compareIntegers(predicate, a, b, width));
  });
}

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

/// An integer conversion: how the source is read and the width of the result.
template <typename OpT>
static void addIntegerCast(Semantics &semantics, bool isSigned) {
  semantics.addElementwise<OpT>([isSigned](OpT op) -> FailureOr<Kernel> {
    unsigned from = getOperandWidth(op);
    unsigned to = getIntegerWidth(getElementTypeOrSelf(op.getType()));
    return makeUnary([=](Slot a) {
      int64_t value = isSigned
                          ? asSigned(a.integer, from)
                          : static_cast<int64_t>(asUnsigned(a.integer, from));
      return Slot::ofInteger(wrapInteger(value, to));
    });
  });
}

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
  addShifts(semantics);
  addFloatArithmetic(semantics);
  addCasts(semantics);
  semantics.addElementwise<arith::CmpIOp>(makeCompareIntegers);
  semantics.addElementwise<arith::CmpFOp>(makeCompareFloats);
  semantics.addElementwise<arith::SelectOp>(makeSelect);
  semantics.add<arith::SelectOp>(compileSelect);
}
