//===- GradientRules.cpp - Derivatives of arith and math ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule of each operation on scalar floats. `Rule` has what they need.
// `addOperandGradients`, at the end, tries the sections in turn: arithmetic,
// choices, functions of one number, of two. A new function of one number is a
// case of `getDerivative`.
//
//===----------------------------------------------------------------------===//

#include "ScalarGradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {
/// One operation, and the gradient of one of its results.
struct Rule {
  Operation *op;
  unsigned result;
  Value gradient;
  ScalarGradients &gradients;

  OpBuilder &builder() const { return gradients.getBuilder(); }
  Location loc() const { return op->getLoc(); }
  Value operand(unsigned i) const {
    return gradients.getCopy(loc(), op->getOperand(i));
  }
  Value output() const { return gradients.getCopy(loc(), op->getResult(0)); }
  bool wants(unsigned i) const { return gradients.isActive(op->getOperand(i)); }

  Value number(double value) const {
    return arith::ConstantOp::create(
        builder(), loc(), builder().getFloatAttr(gradient.getType(), value));
  }
  /// What the operation allows, but that nothing is infinite or NaN: its
  /// derivative may be.
  arith::FastMathFlags flags() const {
    auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
    return fast ? fast.getFastMathFlagsAttr().getValue() &
                      ~(arith::FastMathFlags::nnan | arith::FastMathFlags::ninf)
                : arith::FastMathFlags::none;
  }
  template <typename OpT, typename... Args> Value make(Args... args) const {
    return builder().createOrFold<OpT>(loc(), args...);
  }
  Value add(Value a, Value b) const {
    return make<arith::AddFOp>(a, b, flags());
  }
  Value sub(Value a, Value b) const {
    return make<arith::SubFOp>(a, b, flags());
  }
  Value mul(Value a, Value b) const {
    return make<arith::MulFOp>(a, b, flags());
  }
  Value div(Value a, Value b) const {
    return make<arith::DivFOp>(a, b, flags());
  }
  Value neg(Value a) const { return make<arith::NegFOp>(a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return make<arith::CmpFOp>(predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return make<arith::SelectOp>(condition, a, b);
  }

  /// Operand `i` has this gradient.
  void give(unsigned i, Value value) const {
    if (wants(i))
      gradients.add(op->getOperand(i), value);
  }
  void giveProduct(unsigned i, Value factor) const {
    gradients.addProduct(loc(), op->getOperand(i), gradient, factor, flags());
  }
  void giveQuotient(unsigned i, Value divisor) const {
    gradients.addQuotient(loc(), op->getOperand(i), gradient, divisor, flags());
  }
  /// Operand `i` has the gradient where `condition` holds, else 0.
  void giveWhere(unsigned i, Value condition) const {
    if (wants(i))
      give(i, select(condition, gradient, number(0)));
  }
};
} // namespace

using Predicate = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Returns whether the operation is one of these.
static bool applyArithmetic(const Rule &r) {
  return TypeSwitch<Operation *, bool>(r.op)
      .Case<arith::AddFOp>([&](auto) {
        r.give(0, r.gradient);
        r.give(1, r.gradient);
        return true;
      })
      .Case<arith::SubFOp>([&](auto) {
        r.give(0, r.gradient);
        if (r.wants(1))
          r.give(1, r.neg(r.gradient));
        return true;
      })
      .Case<arith::MulFOp>([&](auto) {
        if (r.wants(0))
          r.giveProduct(0, r.operand(1));
        if (r.wants(1))
          r.giveProduct(1, r.operand(0));
        return true;
      })
      .Case<arith::DivFOp>([&](auto) {
        if (r.wants(0))
          r.giveQuotient(0, r.operand(1));
        if (r.wants(1))
          r.giveProduct(1, r.neg(r.div(r.output(), r.operand(1))));
        return true;
      })
      .Case<arith::RemFOp>([&](auto) {
        r.give(0, r.gradient);
        if (r.wants(1))
          r.giveProduct(1, r.neg(r.make<math::TruncOp>(
                               r.div(r.operand(0), r.operand(1)))));
        return true;
      })
      .Case<arith::NegFOp>([&](auto) {
        r.give(0, r.neg(r.gradient));
        return true;
      })
      .Case<math::FmaOp>([&](auto) {
        if (r.wants(0))
          r.giveProduct(0, r.operand(1));
        if (r.wants(1))
          r.giveProduct(1, r.operand(0));
        r.give(2, r.gradient);
        return true;
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        r.give(0, r.gradient);
        return true;
      })
      .Default([](Operation *) { return false; });
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static bool applyChoice(const Rule &r) {
  // Where both are equal, each has half of the gradient, as in PyTorch and JAX.
  auto applyOneOf = [&](Predicate predicate) {
    Value isFirst = r.compare(predicate, r.operand(0), r.operand(1));
    Value isTie = r.compare(Predicate::OEQ, r.operand(0), r.operand(1));
    Value zero = r.number(0), half = r.mul(r.gradient, r.number(0.5));
    if (r.wants(0))
      r.give(0, r.select(isFirst, r.gradient, r.select(isTie, half, zero)));
    if (r.wants(1))
      r.give(1, r.select(isFirst, zero, r.select(isTie, half, r.gradient)));
    return true;
  };
  return TypeSwitch<Operation *, bool>(r.op)
      .Case<arith::SelectOp>([&](arith::SelectOp op) {
        Value condition = r.gradients.getIntegerCopy(op.getCondition());
        r.giveWhere(1, condition);
        if (r.wants(2))
          r.give(2, r.select(condition, r.number(0), r.gradient));
        return true;
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return applyOneOf(Predicate::OGT); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return applyOneOf(Predicate::OLT); })
      .Case<math::ClampFOp>([&](auto) {
        Value isLow = r.compare(Predicate::OLT, r.operand(0), r.operand(1));
        Value isHigh = r.compare(Predicate::OGT, r.operand(0), r.operand(2));
        Value zero = r.number(0);
        if (r.wants(0))
          r.give(0, r.select(isLow, zero, r.select(isHigh, zero, r.gradient)));
        r.giveWhere(1, isLow);
        r.giveWhere(2, isHigh);
        return true;
      })
      .Case<math::AbsFOp>([&](auto) {
        Value zero = r.number(0);
        Value isAbove = r.compare(Predicate::OGT, r.operand(0), zero);
        Value isBelow = r.compare(Predicate::OLT, r.operand(0), zero);
        r.give(0, r.select(isAbove, r.gradient,
                           r.select(isBelow, r.neg(r.gradient), zero)));
        return true;
      })
      .Case<math::CopySignOp>([&](auto) {
        Value isSame = r.compare(Predicate::OEQ, r.operand(0), r.output());
        r.give(0, r.select(isSame, r.gradient, r.neg(r.gradient)));
        if (r.wants(1))
          r.give(1, r.number(0));
        return true;
      })
      .Default([](Operation *) { return false; });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The derivative of a function of one number, or null; the divisor of it for
/// those that are one over something.
static Value getDerivative(const Rule &r) {
  auto one = [&] { return r.number(1); };
  auto square = [&](Value a) { return r.mul(a, a); };
  auto in = [&] { return r.operand(0); };
  double ofErf = 2 / std::sqrt(M_PI);
  auto bell = [&](double factor) {
    return r.mul(r.number(factor), r.make<math::ExpOp>(r.neg(square(in()))));
  };
  auto overRoot = [&](Value a) { return r.make<math::RsqrtOp>(a); };
  return TypeSwitch<Operation *, Value>(r.op)
      .Case<math::ExpOp>([&](auto) { return r.output(); })
      .Case<math::Exp2Op>(
          [&](auto) { return r.mul(r.output(), r.number(M_LN2)); })
      .Case<math::ExpM1Op>([&](auto) { return r.add(r.output(), one()); })
      .Case<math::RsqrtOp>([&](auto) {
        return r.mul(r.mul(r.number(-0.5), r.output()), square(r.output()));
      })
      .Case<math::SinOp>([&](auto) { return r.make<math::CosOp>(in()); })
      .Case<math::CosOp>([&](auto) { return r.neg(r.make<math::SinOp>(in())); })
      .Case<math::TanOp>([&](auto) { return r.add(one(), square(r.output())); })
      .Case<math::AsinOp>(
          [&](auto) { return overRoot(r.sub(one(), square(in()))); })
      .Case<math::AcosOp>(
          [&](auto) { return r.neg(overRoot(r.sub(one(), square(in())))); })
      .Case<math::SinhOp>([&](auto) { return r.make<math::CoshOp>(in()); })
      .Case<math::CoshOp>([&](auto) { return r.make<math::SinhOp>(in()); })
      .Case<math::TanhOp>(
          [&](auto) { return r.sub(one(), square(r.output())); })
      .Case<math::AsinhOp>(
          [&](auto) { return overRoot(r.add(square(in()), one())); })
      .Case<math::AcoshOp>([&](auto) {
        // Two roots: a square of a large number leaves its type.
        return r.mul(overRoot(r.sub(in(), one())),
                     overRoot(r.add(in(), one())));
      })
      .Case<math::ErfOp>([&](auto) { return bell(ofErf); })
      .Case<math::ErfcOp>([&](auto) { return bell(-ofErf); })
      .Default([](Operation *) { return Value(); });
}

static Value getDerivativeDivisor(const Rule &r) {
  auto one = [&] { return r.number(1); };
  auto in = [&] { return r.operand(0); };
  return TypeSwitch<Operation *, Value>(r.op)
      .Case<math::LogOp>([&](auto) { return in(); })
      .Case<math::Log2Op>([&](auto) { return r.mul(in(), r.number(M_LN2)); })
      .Case<math::Log10Op>([&](auto) { return r.mul(in(), r.number(M_LN10)); })
      .Case<math::Log1pOp>([&](auto) { return r.add(in(), one()); })
      .Case<math::SqrtOp>([&](auto) { return r.mul(r.number(2), r.output()); })
      .Case<math::CbrtOp>([&](auto) {
        return r.mul(r.number(3), r.mul(r.output(), r.output()));
      })
      .Case<math::AtanOp>([&](auto) { return r.add(r.mul(in(), in()), one()); })
      .Case<math::AtanhOp>(
          [&](auto) { return r.sub(one(), r.mul(in(), in())); })
      .Default([](Operation *) { return Value(); });
}

static bool applyFunctionOfOne(const Rule &r) {
  if (Value derivative = getDerivative(r)) {
    r.giveProduct(0, derivative);
    return true;
  }
  if (Value divisor = getDerivativeDivisor(r)) {
    r.giveQuotient(0, divisor);
    return true;
  }
  return false;
}

static bool applyFunctionOfTwo(const Rule &r) {
  return TypeSwitch<Operation *, bool>(r.op)
      .Case<math::PowFOp>([&](auto) {
        Value base = r.operand(0), exponent = r.operand(1);
        if (r.wants(0))
          r.giveProduct(
              0, r.mul(exponent, r.make<math::PowFOp>(
                                     base, r.sub(exponent, r.number(1)))));
        if (r.wants(1)) {
          // A base of 0 stays 0 for every positive exponent.
          Value isAbove = r.compare(Predicate::OGT, base, r.number(0));
          Value log = r.make<math::LogOp>(r.select(isAbove, base, r.number(1)));
          r.giveProduct(1, r.mul(r.output(), log));
        }
        return true;
      })
      .Case<math::FPowIOp>([&](math::FPowIOp op) {
        Value exponent = r.gradients.getIntegerCopy(op.getRhs());
        Value one = arith::ConstantOp::create(
            r.builder(), r.loc(),
            r.builder().getIntegerAttr(exponent.getType(), 1));
        Value power = r.make<math::FPowIOp>(
            r.operand(0), r.make<arith::SubIOp>(exponent, one));
        Value factor = arith::SIToFPOp::create(r.builder(), r.loc(),
                                               r.gradient.getType(), exponent);
        // x^(n - 1) may be 1 / 0 where n is 0, and the gradient is 0.
        Value isNone = r.compare(Predicate::OEQ, factor, r.number(0));
        r.giveProduct(0, r.select(isNone, r.number(0), r.mul(factor, power)));
        return true;
      })
      .Case<math::Atan2Op>([&](auto) {
        Value y = r.operand(0), x = r.operand(1);
        Value norm = r.add(r.mul(x, x), r.mul(y, y));
        if (r.wants(0))
          r.giveProduct(0, r.div(x, norm));
        if (r.wants(1))
          r.giveProduct(1, r.neg(r.div(y, norm)));
        return true;
      })
      .Case<math::SincosOp>([&](auto) {
        Value in = r.operand(0);
        r.giveProduct(0, r.result == 0 ? Value(r.make<math::CosOp>(in))
                                       : r.neg(r.make<math::SinOp>(in)));
        return true;
      })
      .Default([](Operation *) { return false; });
}

bool fa::hasGradientRule(Operation *op) {
  return isa<
      arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp,
      arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::SelectOp,
      arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp,
      math::FmaOp, math::ClampFOp, math::AbsFOp, math::CopySignOp, math::ExpOp,
      math::Exp2Op, math::ExpM1Op, math::RsqrtOp, math::SinOp, math::CosOp,
      math::TanOp, math::AsinOp, math::AcosOp, math::SinhOp, math::CoshOp,
      math::TanhOp, math::AsinhOp, math::AcoshOp, math::ErfOp, math::ErfcOp,
      math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp, math::SqrtOp,
      math::CbrtOp, math::AtanOp, math::AtanhOp, math::PowFOp, math::FPowIOp,
      math::Atan2Op, math::SincosOp>(op);
}

void fa::addOperandGradients(Operation *op, unsigned result, Value gradient,
                             ScalarGradients &gradients) {
  Rule rule{op, result, gradient, gradients};
  bool applied = applyArithmetic(rule) || applyChoice(rule) ||
                 applyFunctionOfOne(rule) || applyFunctionOfTwo(rule);
  assert(applied && "hasGradientRule holds an operation without a rule");
  (void)applied;
}
