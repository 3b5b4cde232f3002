//===- FloatArithmetic.h - Arithmetic on f32 and its bits -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A builder for float and bit arithmetic on one shape, so that expansions of
// math functions read as formulas. Methods are one operation each;
// `polynomial` and `clamp` are the only compound ones. Exponentials.cpp shows
// it in use.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_MATH_FLOATARITHMETIC_H
#define FA_LIB_CONVERSION_MATH_FLOATARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::fa {

/// Arithmetic on floats, f32 or f64, of the shape of one value, and on integers
/// of the same width.
class FloatArithmetic {
public:
  FloatArithmetic(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), real(type),
        integer(builder.getIntegerType(
            getElementTypeOrSelf(type).getIntOrFloatBitWidth())) {
    if (auto vector = dyn_cast<VectorType>(type))
      integer = vector.clone(integer);
  }

  /// The same on floats of another width.
  FloatArithmetic withElement(FloatType element) {
    auto vector = dyn_cast<VectorType>(real);
    return FloatArithmetic(builder, loc,
                           vector ? Type(vector.clone(element)) : element);
  }

  Type getRealType() const { return real; }
  Type getIntegerType() const { return integer; }

  Value number(double value) {
    return constant(real,
                    builder.getFloatAttr(getElementTypeOrSelf(real), value));
  }
  Value number(float value) { return number(static_cast<double>(value)); }
  Value number(int64_t value) {
    return constant(
        integer, builder.getIntegerAttr(getElementTypeOrSelf(integer), value));
  }
  Value number(int32_t value) { return number(static_cast<int64_t>(value)); }
  Value add(Value a, Value b) {
    if (a.getType() == integer)
      return arith::AddIOp::create(builder, loc, a, b);
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    if (a.getType() == integer)
      return arith::SubIOp::create(builder, loc, a, b);
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    if (a.getType() == integer)
      return arith::MulIOp::create(builder, loc, a, b);
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value copySign(Value size, Value sign) {
    return math::CopySignOp::create(builder, loc, size, sign);
  }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b);
  }
  Value equal(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value shiftLeft(Value a, int64_t bits) {
    return arith::ShLIOp::create(builder, loc, a, number(bits));
  }
  Value isNaN(Value a) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, a, a);
  }
  Value shiftRightSigned(Value a, int64_t bits) {
    return arith::ShRSIOp::create(builder, loc, a, number(bits));
  }
  Value shiftRight(Value a, int64_t bits) {
    return arith::ShRUIOp::create(builder, loc, a, number(bits));
  }
  Value bitAnd(Value a, int64_t mask) {
    return arith::AndIOp::create(builder, loc, a, number(mask));
  }
  Value bitOr(Value a, int64_t mask) {
    return arith::OrIOp::create(builder, loc, a, number(mask));
  }
  Value shiftLeftBy(Value a, Value bits) {
    return arith::ShLIOp::create(builder, loc, a, bits);
  }
  Value bitOrValue(Value a, Value b) {
    return arith::OrIOp::create(builder, loc, a, b);
  }
  Value bitXor(Value a, Value b) {
    return arith::XOrIOp::create(builder, loc, a, b);
  }
  Value bits(Value a) {
    return arith::BitcastOp::create(builder, loc, integer, a);
  }
  Value fromBits(Value a) {
    return arith::BitcastOp::create(builder, loc, real, a);
  }
  Value toReal(Value a) {
    return arith::SIToFPOp::create(builder, loc, real, a);
  }
  /// Conversions from other widths.
  Value extend(Value a) {
    return arith::ExtUIOp::create(builder, loc, integer, a);
  }
  Value truncate(Value a) {
    return arith::TruncIOp::create(builder, loc, integer, a);
  }
  Value extendReal(Value a) {
    return arith::ExtFOp::create(builder, loc, real, a);
  }
  Value truncateReal(Value a) {
    return arith::TruncFOp::create(builder, loc, real, a);
  }
  Value toInteger(Value a) {
    return arith::FPToSIOp::create(builder, loc, integer, a);
  }
  /// Whether the lowest bit of an integer of any width, or an index, is set.
  Value isOdd(Value a) {
    Type bit = builder.getI1Type();
    if (auto vector = dyn_cast<VectorType>(a.getType()))
      bit = vector.clone(bit);
    if (a.getType() == bit)
      return a;
    if (getElementTypeOrSelf(a).isIndex())
      return arith::IndexCastOp::create(builder, loc, bit, a);
    return arith::TruncIOp::create(builder, loc, bit, a);
  }
  Value floor(Value a) { return math::FloorOp::create(builder, loc, a); }
  Value bothTrue(Value a, Value b) {
    return arith::AndIOp::create(builder, loc, a, b);
  }
  Value eitherTrue(Value a, Value b) {
    return arith::OrIOp::create(builder, loc, a, b);
  }
  /// False where `condition` is, or where `unless` is true.
  Value butNot(Value condition, Value unless) {
    auto type = unless.getType();
    return select(unless, constant(type, builder.getBoolAttr(false)),
                  condition);
  }
  Value negate(Value a) { return arith::NegFOp::create(builder, loc, a); }
  /// Whether the sign bit is set.
  Value isNegative(Value a) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                 bits(a), number(int32_t(0)));
  }
  Value equalBits(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  }

  /// Horner's rule, highest coefficient first.
  template <typename Number>
  Value polynomial(Value x, std::initializer_list<Number> list) {
    ArrayRef<Number> coefficients(list);
    Value result = number(coefficients.front());
    for (Number coefficient : coefficients.drop_front())
      result = fma(result, x, number(coefficient));
    return result;
  }
  /// Moves x into [low, high]; NaN stays.
  Value clamp(Value x, float low, float high) {
    Value lowest = number(low), highest = number(high);
    x = select(less(x, lowest), lowest, x);
    return select(less(highest, x), highest, x);
  }

private:
  Value constant(Type type, TypedAttr scalar) {
    TypedAttr attribute = scalar;
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(scalar));
    return arith::ConstantOp::create(builder, loc, attribute);
  }

  OpBuilder &builder;
  Location loc;
  Type real, integer;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_MATH_FLOATARITHMETIC_H
