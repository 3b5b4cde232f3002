//===- MathSemantics.cpp - The math dialect in the executor ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions come from the C library in double; its errors are below an ulp of
// double for all that attention needs. The table is in `addElementary`,
// `addExponential` and `addTrigonometric`; what is above it are the functions
// that the library lacks.
//
//===----------------------------------------------------------------------===//

#include "KernelHelpers.h"
#include "fa/Executor/ProgramBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

template <typename OpT>
static void addReal(Semantics &semantics, double (*fn)(double)) {
  semantics.addElementwise<OpT>(
      [fn](OpT) -> FailureOr<Kernel> { return makeRealUnary(fn); });
}

template <typename OpT>
static void addReal(Semantics &semantics, double (*fn)(double, double)) {
  semantics.addElementwise<OpT>(
      [fn](OpT) -> FailureOr<Kernel> { return makeRealBinary(fn); });
}

template <typename OpT>
static void addTest(Semantics &semantics, bool (*fn)(double)) {
  semantics.addElementwise<OpT>([fn](OpT) -> FailureOr<Kernel> {
    return makeUnary([fn](Slot a) { return Slot::ofInteger(fn(a.real)); });
  });
}

/// A count of bits of the integer at its width.
template <typename OpT>
static void addCount(Semantics &semantics, int64_t (*fn)(uint64_t, unsigned)) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeUnary([fn, width](Slot a) {
      int64_t count = fn(asUnsigned(a.integer, width), width);
      return Slot::ofInteger(wrapInteger(count, width));
    });
  });
}

static int64_t countLeadingZeros(uint64_t value, unsigned width) {
  return llvm::countl_zero(value) - (64 - width);
}
static int64_t countTrailingZeros(uint64_t value, unsigned width) {
  return value ? llvm::countr_zero(value) : width;
}
static int64_t countOnes(uint64_t value, unsigned) {
  return llvm::popcount(value);
}

/// Integer power by squaring, wrapping; negative exponents truncate to 0 or
/// +-1.
static int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

static FailureOr<Kernel> makeAbsoluteInteger(math::AbsIOp op) {
  unsigned width = getOperandWidth(op);
  return makeUnary([width](Slot a) {
    uint64_t value = static_cast<uint64_t>(asSigned(a.integer, width));
    return Slot::ofInteger(wrapInteger(
        static_cast<int64_t>(a.integer < 0 ? -value : value), width));
  });
}

static FailureOr<Kernel> makeIntegerPower(math::IPowIOp op) {
  unsigned width = getOperandWidth(op);
  return makeBinary([width](Slot a, Slot b) {
    int64_t value =
        integerPower(asSigned(a.integer, width), asSigned(b.integer, width));
    return Slot::ofInteger(wrapInteger(value, width));
  });
}

static FailureOr<Kernel> makeRealToIntegerPower(math::FPowIOp op) {
  unsigned width = getIntegerWidth(getElementTypeOrSelf(op.getRhs().getType()));
  return makeBinary([width](Slot a, Slot b) {
    return Slot::ofReal(
        std::pow(a.real, static_cast<double>(asSigned(b.integer, width))));
  });
}

static FailureOr<Kernel> makeFma(math::FmaOp op) {
  return makeFusedMultiplyAdd(getElementTypeOrSelf(op.getType()));
}

static FailureOr<Kernel> makeClamp(math::ClampFOp) {
  return makeTernary([](Slot value, Slot low, Slot high) {
    return Slot::ofReal(std::min(std::max(value.real, low.real), high.real));
  });
}

/// Whether a number is neither subnormal nor zero nor infinite in its type.
static FailureOr<Kernel> makeIsNormal(math::IsNormalOp op) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getOperand()));
  APFloat least = APFloat::getSmallestNormalized(type.getFloatSemantics());
  double smallest = least.convertToDouble();
  return makeUnary([smallest](Slot a) {
    return Slot::ofInteger(std::isfinite(a.real) &&
                           std::fabs(a.real) >= smallest);
  });
}

static FailureOr<Kernel> makeSincos(math::SincosOp) {
  return Kernel(
      [](ArrayRef<const Slot *> in, ArrayRef<Slot *> out, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          out[0][i].real = std::sin(in[0][i].real);
          out[1][i].real = std::cos(in[0][i].real);
        }
        return success();
      });
}

static void addElementary(Semantics &semantics) {
  addReal<math::AbsFOp>(semantics, std::fabs);
  addReal<math::CbrtOp>(semantics, std::cbrt);
  addReal<math::CeilOp>(semantics, std::ceil);
  addReal<math::FloorOp>(semantics, std::floor);
  addReal<math::RoundOp>(semantics, std::round);
  addReal<math::RoundEvenOp>(semantics, std::nearbyint);
  addReal<math::TruncOp>(semantics, std::trunc);
  addReal<math::SqrtOp>(semantics, std::sqrt);
  addReal<math::RsqrtOp>(semantics, [](double a) { return 1 / std::sqrt(a); });
  addReal<math::CopySignOp>(semantics, std::copysign);
  addReal<math::PowFOp>(semantics, std::pow);
}

static void addExponential(Semantics &semantics) {
  addReal<math::ExpOp>(semantics, std::exp);
  addReal<math::Exp2Op>(semantics, std::exp2);
  addReal<math::ExpM1Op>(semantics, std::expm1);
  addReal<math::LogOp>(semantics, std::log);
  addReal<math::Log2Op>(semantics, std::log2);
  addReal<math::Log10Op>(semantics, std::log10);
  addReal<math::Log1pOp>(semantics, std::log1p);
  addReal<math::ErfOp>(semantics, std::erf);
  addReal<math::ErfcOp>(semantics, std::erfc);
}

static void addTrigonometric(Semantics &semantics) {
  addReal<math::SinOp>(semantics, std::sin);
  addReal<math::CosOp>(semantics, std::cos);
  addReal<math::TanOp>(semantics, std::tan);
  addReal<math::AsinOp>(semantics, std::asin);
  addReal<math::AcosOp>(semantics, std::acos);
  addReal<math::AtanOp>(semantics, std::atan);
  addReal<math::Atan2Op>(semantics, std::atan2);
  addReal<math::SinhOp>(semantics, std::sinh);
  addReal<math::CoshOp>(semantics, std::cosh);
  addReal<math::TanhOp>(semantics, std::tanh);
  addReal<math::AsinhOp>(semantics, std::asinh);
  addReal<math::AcoshOp>(semantics, std::acosh);
  addReal<math::AtanhOp>(semantics, std::atanh);
  semantics.addElementwise<math::SincosOp>(makeSincos);
}

void executor::addMathSemantics(Semantics &semantics) {
  addElementary(semantics);
  addExponential(semantics);
  addTrigonometric(semantics);
  addTest<math::IsNaNOp>(semantics, [](double a) { return std::isnan(a); });
  addTest<math::IsInfOp>(semantics, [](double a) { return std::isinf(a); });
  addTest<math::IsFiniteOp>(semantics,
                            [](double a) { return std::isfinite(a); });
  semantics.addElementwise<math::IsNormalOp>(makeIsNormal);
  addCount<math::CountLeadingZerosOp>(semantics, countLeadingZeros);
  addCount<math::CountTrailingZerosOp>(semantics, countTrailingZeros);
  addCount<math::CtPopOp>(semantics, countOnes);
  semantics.addElementwise<math::AbsIOp>(makeAbsoluteInteger);
  semantics.addElementwise<math::IPowIOp>(makeIntegerPower);
  semantics.addElementwise<math::FPowIOp>(makeRealToIntegerPower);
  semantics.addElementwise<math::FmaOp>(makeFma);
  semantics.addElementwise<math::ClampFOp>(makeClamp);
}
