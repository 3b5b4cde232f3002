//===- ScalarOps.cpp - Operations on elements -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Elementwise operations by name, each as arith and math of scalars. `select`
// and `clamp` are elementwise too; `compare` and `convert` are functions of
// their own. Read `computeElement`, at the end, first.
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

namespace {
/// Makes the element, or returns null for a type that the operation lacks.
using ElementFn = Value (*)(ImplicitLocOpBuilder &, ValueRange);
struct Element {
  ElementFn make;
  int numOperands;
};
} // namespace

static bool isFloat(Value value) { return isa<FloatType>(value.getType()); }
static bool isBool(Value value) { return value.getType().isInteger(1); }

static Value makeConstant(ImplicitLocOpBuilder &builder, Type type,
                          double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder,
                                     builder.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      builder, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

//===----------------------------------------------------------------------===//
// Elements by the kinds of their types
//===----------------------------------------------------------------------===//

template <typename FloatOp>
static Value makeReal(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (!isFloat(operands[0]))
    return {};
  return FloatOp::create(builder, operands[0].getType(), operands);
}

template <typename IntegerOp>
static Value makeInteger(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (isFloat(operands[0]))
    return {};
  return IntegerOp::create(builder, operands[0].getType(), operands);
}

/// One operation for floats, one for integers, one for booleans.
template <typename FloatOp, typename IntegerOp, typename BoolOp = IntegerOp>
static Value makeEither(ImplicitLocOpBuilder &builder, ValueRange operands) {
  Type type = operands[0].getType();
  if (isFloat(operands[0]))
    return FloatOp::create(builder, type, operands);
  if (isBool(operands[0]))
    return BoolOp::create(builder, type, operands);
  return IntegerOp::create(builder, type, operands);
}

static Value makeNegation(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (isFloat(operands[0]))
    return arith::NegFOp::create(builder, operands[0]);
  Value zero = makeConstant(builder, operands[0].getType(), 0);
  return arith::SubIOp::create(builder, zero, operands[0]);
}

static Value makeNot(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (isFloat(operands[0]))
    return {};
  Value ones = arith::ConstantOp::create(
      builder, builder.getIntegerAttr(operands[0].getType(), -1));
  return arith::XOrIOp::create(builder, operands[0], ones);
}

static Value makeLogistic(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (!isFloat(operands[0]))
    return {};
  Value one = makeConstant(builder, operands[0].getType(), 1);
  Value opposite = arith::NegFOp::create(builder, operands[0]);
  Value power = math::ExpOp::create(builder, opposite);
  return arith::DivFOp::create(builder, one,
                               arith::AddFOp::create(builder, one, power));
}

/// -1, 0 (of the same sign) or 1; NaN stays.
static Value makeSign(ImplicitLocOpBuilder &builder, ValueRange operands) {
  Value value = operands[0];
  Type type = value.getType();
  Value zero = makeConstant(builder, type, 0);
  Value one = makeConstant(builder, type, 1);
  if (isFloat(value)) {
    Value unit = math::CopySignOp::create(builder, one, value);
    // Unordered or equal: 0 and NaN are what they are.
    Value stays =
        arith::CmpFOp::create(builder, arith::CmpFPredicate::UEQ, value, zero);
    return arith::SelectOp::create(builder, stays, value, unit);
  }
  if (isBool(value))
    return {};
  Value low =
      arith::MaxSIOp::create(builder, value, makeConstant(builder, type, -1));
  return arith::MinSIOp::create(builder, low, one);
}

static Value makeSquare(ImplicitLocOpBuilder &builder, ValueRange operands) {
  return makeEither<arith::MulFOp, arith::MulIOp, arith::AndIOp>(
      builder, {operands[0], operands[0]});
}

/// Division of integers as XLA defines it where arith does not: by 0 it is -1,
/// or the dividend for a remainder; the least number by -1 is that number, and
/// 0 is left.
template <typename FloatOp, typename IntegerOp, bool isRemainder>
static Value makeQuotient(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (isFloat(operands[0]))
    return FloatOp::create(builder, operands[0], operands[1]);
  if (isBool(operands[0]))
    return {};
  Value dividend = operands[0], divisor = operands[1];
  Type type = dividend.getType();
  auto isEqual = [&](Value value, TypedAttr constant) -> Value {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, value,
                                 arith::ConstantOp::create(builder, constant));
  };
  unsigned width = type.getIntOrFloatBitWidth();
  Value isZero = isEqual(divisor, builder.getIntegerAttr(type, 0));
  Value overflows = arith::AndIOp::create(
      builder,
      isEqual(dividend,
              builder.getIntegerAttr(type, APInt::getSignedMinValue(width))),
      isEqual(divisor, builder.getIntegerAttr(type, -1)));
  Value one = makeConstant(builder, type, 1);
  Value isSpecial = arith::OrIOp::create(builder, isZero, overflows);
  Value safe = arith::SelectOp::create(builder, isSpecial, one, divisor);
  Value result = IntegerOp::create(builder, dividend, safe);
  Value ofZero = isRemainder ? dividend : makeConstant(builder, type, -1);
  return arith::SelectOp::create(builder, isZero, ofZero, result);
}

/// A shift by the width and more, which arith does not define: 0, or the sign.
template <typename ShiftOp, bool keepsSign>
static Value makeShift(ImplicitLocOpBuilder &builder, ValueRange operands) {
  Type type = operands[0].getType();
  if (isFloat(operands[0]) || isBool(operands[0]))
    return {};
  int64_t width = type.getIntOrFloatBitWidth();
  Value last = makeConstant(builder, type, width - 1);
  Value amount = arith::MinUIOp::create(builder, operands[1], last);
  Value shifted = ShiftOp::create(builder, operands[0], amount);
  if (keepsSign)
    return shifted;
  Value fits = arith::CmpIOp::create(builder, arith::CmpIPredicate::ule,
                                     operands[1], last);
  return arith::SelectOp::create(builder, fits, shifted,
                                 makeConstant(builder, type, 0));
}

static Value makeSelect(ImplicitLocOpBuilder &builder, ValueRange operands) {
  return arith::SelectOp::create(builder, operands[0], operands[1],
                                 operands[2]);
}

/// Operands are the lower bound, the value and the upper one.
static Value makeClamp(ImplicitLocOpBuilder &builder, ValueRange operands) {
  Value low = makeEither<arith::MaximumFOp, arith::MaxSIOp, arith::OrIOp>(
      builder, {operands[1], operands[0]});
  return makeEither<arith::MinimumFOp, arith::MinSIOp, arith::AndIOp>(
      builder, {low, operands[2]});
}

static Value makeIsFinite(ImplicitLocOpBuilder &builder, ValueRange operands) {
  if (!isFloat(operands[0]))
    return {};
  return math::IsFiniteOp::create(builder, operands[0]);
}

//===----------------------------------------------------------------------===//
// Comparisons and conversions
//===----------------------------------------------------------------------===//

static FailureOr<Value> compareElements(ImplicitLocOpBuilder &builder,
                                        Operation *op, ValueRange operands) {
  StringRef direction = readEnumerator(op, "comparison_direction");
  StringRef type = readEnumerator(op, "compare_type");
  if (type == "TOTALORDER")
    return refuse(op) << "has 'compare_type' = TOTALORDER, expected FLOAT, "
                         "SIGNED, UNSIGNED or none";
  bool isUnsigned = type == "UNSIGNED" || isBool(operands[0]);
  if (isFloat(operands[0])) {
    auto predicate =
        llvm::StringSwitch<std::optional<arith::CmpFPredicate>>(direction)
            .Case("EQ", arith::CmpFPredicate::OEQ)
            .Case("NE", arith::CmpFPredicate::UNE)
            .Case("GE", arith::CmpFPredicate::OGE)
            .Case("GT", arith::CmpFPredicate::OGT)
            .Case("LE", arith::CmpFPredicate::OLE)
            .Case("LT", arith::CmpFPredicate::OLT)
            .Default(std::nullopt);
    if (predicate)
      return Value(
          arith::CmpFOp::create(builder, *predicate, operands[0], operands[1]));
  } else {
    using P = arith::CmpIPredicate;
    auto predicate = llvm::StringSwitch<std::optional<P>>(direction)
                         .Case("EQ", P::eq)
                         .Case("NE", P::ne)
                         .Case("GE", isUnsigned ? P::uge : P::sge)
                         .Case("GT", isUnsigned ? P::ugt : P::sgt)
                         .Case("LE", isUnsigned ? P::ule : P::sle)
                         .Case("LT", isUnsigned ? P::ult : P::slt)
                         .Default(std::nullopt);
    if (predicate)
      return Value(
          arith::CmpIOp::create(builder, *predicate, operands[0], operands[1]));
  }
  return refuse(op) << "has 'comparison_direction' = '" << direction
                    << "', expected EQ, NE, GE, GT, LE or LT";
}

static Value convertFloat(ImplicitLocOpBuilder &builder, Value value,
                          FloatType type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  if (from < type.getWidth())
    return arith::ExtFOp::create(builder, type, value);
  if (from == type.getWidth()) // bf16 and f16
    value = arith::ExtFOp::create(builder, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, type, value);
}

Value stablehlo::convertElement(ImplicitLocOpBuilder &builder, Value value,
                                Type element) {
  Type from = value.getType();
  if (from == element)
    return value;
  if (auto type = dyn_cast<FloatType>(element)) {
    if (isFloat(value))
      return convertFloat(builder, value, type);
    if (isBool(value))
      return arith::UIToFPOp::create(builder, type, value);
    return arith::SIToFPOp::create(builder, type, value);
  }
  Value zero = makeConstant(builder, from, 0);
  if (isFloat(value)) {
    if (element.isInteger(1))
      return arith::CmpFOp::create(builder, arith::CmpFPredicate::UNE, value,
                                   zero);
    return arith::FPToSIOp::create(builder, element, value);
  }
  if (element.isInteger(1))
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value,
                                 zero);
  if (isBool(value))
    return arith::ExtUIOp::create(builder, element, value);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, element, value);
  return arith::TruncIOp::create(builder, element, value);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static const llvm::StringMap<Element> &getElementTable() {
  static const llvm::StringMap<Element> table = {
      {"stablehlo.abs", {makeEither<math::AbsFOp, math::AbsIOp>, 1}},
      {"stablehlo.add",
       {makeEither<arith::AddFOp, arith::AddIOp, arith::OrIOp>, 2}},
      {"stablehlo.and", {makeInteger<arith::AndIOp>, 2}},
      {"stablehlo.atan2", {makeReal<math::Atan2Op>, 2}},
      {"stablehlo.cbrt", {makeReal<math::CbrtOp>, 1}},
      {"stablehlo.ceil", {makeReal<math::CeilOp>, 1}},
      {"stablehlo.clamp", {makeClamp, 3}},
      {"stablehlo.cosine", {makeReal<math::CosOp>, 1}},
      {"stablehlo.divide",
       {makeQuotient<arith::DivFOp, arith::DivSIOp, /*isRemainder=*/false>, 2}},
      {"stablehlo.exponential", {makeReal<math::ExpOp>, 1}},
      {"stablehlo.exponential_minus_one", {makeReal<math::ExpM1Op>, 1}},
      {"stablehlo.floor", {makeReal<math::FloorOp>, 1}},
      {"stablehlo.is_finite", {makeIsFinite, 1}},
      {"stablehlo.log", {makeReal<math::LogOp>, 1}},
      {"stablehlo.log_plus_one", {makeReal<math::Log1pOp>, 1}},
      {"stablehlo.logistic", {makeLogistic, 1}},
      {"stablehlo.maximum",
       {makeEither<arith::MaximumFOp, arith::MaxSIOp, arith::OrIOp>, 2}},
      {"stablehlo.minimum",
       {makeEither<arith::MinimumFOp, arith::MinSIOp, arith::AndIOp>, 2}},
      {"stablehlo.multiply",
       {makeEither<arith::MulFOp, arith::MulIOp, arith::AndIOp>, 2}},
      {"stablehlo.negate", {makeNegation, 1}},
      {"stablehlo.not", {makeNot, 1}},
      {"stablehlo.or", {makeInteger<arith::OrIOp>, 2}},
      {"stablehlo.power", {makeEither<math::PowFOp, math::IPowIOp>, 2}},
      {"stablehlo.remainder",
       {makeQuotient<arith::RemFOp, arith::RemSIOp, /*isRemainder=*/true>, 2}},
      {"stablehlo.round_nearest_afz", {makeReal<math::RoundOp>, 1}},
      {"stablehlo.round_nearest_even", {makeReal<math::RoundEvenOp>, 1}},
      {"stablehlo.rsqrt", {makeReal<math::RsqrtOp>, 1}},
      {"stablehlo.select", {makeSelect, 3}},
      {"stablehlo.shift_left",
       {makeShift<arith::ShLIOp, /*keepsSign=*/false>, 2}},
      {"stablehlo.shift_right_arithmetic",
       {makeShift<arith::ShRSIOp, /*keepsSign=*/true>, 2}},
      {"stablehlo.shift_right_logical",
       {makeShift<arith::ShRUIOp, /*keepsSign=*/false>, 2}},
      {"stablehlo.sign", {makeSign, 1}},
      {"stablehlo.sine", {makeReal<math::SinOp>, 1}},
      {"stablehlo.sqrt", {makeReal<math::SqrtOp>, 1}},
      {"stablehlo.subtract",
       {makeEither<arith::SubFOp, arith::SubIOp, arith::XOrIOp>, 2}},
      {"stablehlo.tan", {makeReal<math::TanOp>, 1}},
      {"stablehlo.tanh", {makeReal<math::TanhOp>, 1}},
      {"stablehlo.xor", {makeInteger<arith::XOrIOp>, 2}},
      {"chlo.erf", {makeReal<math::ErfOp>, 1}},
      {"chlo.square", {makeSquare, 1}},
  };
  return table;
}

SmallVector<std::pair<StringRef, int>> stablehlo::getElementwiseOperations() {
  SmallVector<std::pair<StringRef, int>> operations = {
      {"stablehlo.compare", 2}, {"stablehlo.convert", 1}};
  for (const auto &entry : getElementTable())
    operations.push_back({entry.getKey(), entry.getValue().numOperands});
  return operations;
}

bool stablehlo::isElementwise(StringRef name) {
  return getElementTable().contains(name) || name == "stablehlo.compare" ||
         name == "stablehlo.convert";
}

LogicalResult stablehlo::checkElementTypes(Operation *op) {
  StringRef name = op->getName().getStringRef();
  SmallVector<Type> types =
      llvm::map_to_vector(op->getOperandTypes(),
                          [](Type type) { return getElementTypeOrSelf(type); });
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  bool isTest = name == "stablehlo.compare" || name == "stablehlo.is_finite";
  Type wanted = isTest ? types[0] : result;
  bool isValid = !isTest || result.isInteger(1);
  if (name == "stablehlo.select") {
    isValid = types[0].isInteger(1);
    types.erase(types.begin());
  }
  if (name == "stablehlo.convert" ||
      (isValid &&
       llvm::all_of(types, [&](Type type) { return type == wanted; })))
    return success();
  return refuse(op) << "has operands of types " << op->getOperandTypes()
                    << " for a result of type " << op->getResult(0).getType();
}

FailureOr<Value> stablehlo::computeElement(ImplicitLocOpBuilder &builder,
                                           Operation *op, ValueRange operands,
                                           Type element) {
  StringRef name = op->getName().getStringRef();
  if (name == "stablehlo.compare")
    return compareElements(builder, op, operands);
  if (name == "stablehlo.convert")
    return convertElement(builder, operands[0], element);
  if (Value result = getElementTable().lookup(name).make(builder, operands))
    return result;
  return refuse(op) << "is not imported for elements of type "
                    << operands[0].getType();
}
