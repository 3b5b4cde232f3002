//===- ScalarGradients.cpp - Reverse mode over scalar blocks --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which values depend on wanted ones (`analyze`), and the walk back that adds
// gradients up (`run`). The rule of each operation is in GradientRules.cpp; it
// gives its operands their gradients by `add`, `addProduct` and `addQuotient`,
// in which a gradient of 0 stays 0, also where the factor is infinite.
//
//===----------------------------------------------------------------------===//

#include "ScalarGradients.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

Type fa::getGradientType(Type type) {
  return cast<FloatType>(type).getWidth() < 32
             ? Float32Type::get(type.getContext())
             : type;
}

Value fa::convertFloat(OpBuilder &builder, Location loc, Value value,
                       Type type) {
  unsigned from = cast<FloatType>(value.getType()).getWidth();
  unsigned to = cast<FloatType>(type).getWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return builder.createOrFold<arith::ExtFOp>(loc, type, value);
  return builder.createOrFold<arith::TruncFOp>(loc, type, value);
}

void fa::cloneValues(OpBuilder &builder, Block &block, IRMapping &copies) {
  for (Operation &op : block.without_terminator()) {
    if (auto stop = dyn_cast<StopGradientOp>(op))
      copies.map(stop.getResult(), copies.lookupOrDefault(stop.getValue()));
    else
      builder.clone(op, copies);
  }
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// A result that is constant but for jumps, or declared so: of gradient 0.
static bool isPiecewiseConstant(Operation *op) {
  return isa<StopGradientOp, math::CeilOp, math::FloorOp, math::RoundOp,
             math::RoundEvenOp, math::TruncOp, arith::FPToSIOp, arith::FPToUIOp,
             arith::CmpFOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp,
             math::IsNormalOp>(op);
}

/// Floats of an operation on wanted values need a rule; the bits of one may not
/// come back as a float.
LogicalResult ScalarGradients::checkOperation(Operation *op) {
  bool isCastBack = isa<arith::SIToFPOp, arith::UIToFPOp, arith::BitcastOp>(op);
  for (Value operand : op->getOperands())
    if (Operation *cast = casts.lookup(operand);
        cast && isCastBack && isa<FloatType>(op->getResult(0).getType()))
      return cast->emitError()
             << "'" << cast->getName()
             << "' has no gradient, but what it yields reaches the result; "
                "arith.fptosi or math.floor has the gradient 0";
  if (!hasGradientRule(op))
    return op->emitError() << "'" << op->getName()
                           << "' has no gradient, but what it yields depends "
                              "on a value that needs one";
  return success();
}

LogicalResult ScalarGradients::analyze(Block &block, ValueRange results) {
  // Only what reaches the results is asked for a rule.
  DenseSet<Operation *> needed;
  auto need = [&](ValueRange values) {
    for (Value value : values)
      if (Operation *op = value.getDefiningOp())
        needed.insert(op);
  };
  need(results);
  for (Operation &op : llvm::reverse(block))
    if (needed.contains(&op) && !isPiecewiseConstant(&op))
      need(op.getOperands());
  for (Operation &op : block) {
    if (isPiecewiseConstant(&op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    bool isActive = llvm::any_of(op.getOperands(), [&](Value operand) {
      return active.contains(operand);
    });
    Operation *cast = nullptr;
    for (Value operand : op.getOperands())
      if (Operation *from = casts.lookup(operand))
        cast = from;
    bool isFloat = llvm::any_of(op.getResultTypes(), llvm::IsaPred<FloatType>);
    if (isActive && !isFloat)
      cast = &op;
    // A comparison of such integers, too, is constant but for jumps; what a
    // load reads at such an index is.
    if (cast && !isFloat && !isa<arith::CmpIOp>(op))
      for (Value result : op.getResults())
        casts[result] = cast;
    bool comesBack =
        cast && isFloat &&
        isa<arith::SIToFPOp, arith::UIToFPOp, arith::BitcastOp>(op);
    if ((isActive && isFloat) || comesBack) {
      if (needed.contains(&op) && failed(checkOperation(&op)))
        return failure();
      active.insert_range(op.getResults());
      chooses |= isa<arith::SelectOp, arith::MaximumFOp, arith::MaxNumFOp,
                     arith::MinimumFOp, arith::MinNumFOp, math::ClampFOp>(op);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Walk back
//===----------------------------------------------------------------------===//

Value ScalarGradients::getCopy(Location loc, Value value) {
  Value copy = copies.lookupOrDefault(value);
  return convertFloat(builder, loc, copy, getGradientType(copy.getType()));
}

void ScalarGradients::add(Value value, Value gradient) {
  if (!isActive(value))
    return;
  Location loc = gradient.getLoc();
  gradient =
      convertFloat(builder, loc, gradient, getGradientType(value.getType()));
  Value &sum = gradients[value];
  sum =
      sum ? builder.createOrFold<arith::AddFOp>(loc, sum, gradient) : gradient;
}

/// Whether a value is a number of moderate size, whatever its operands are.
static bool isBounded(Value value) {
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number.isFinite() && std::abs(number.convertToDouble()) < 1e6;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<math::TanhOp, math::SinOp, math::CosOp, math::ErfOp, math::ErfcOp,
          math::AtanOp, math::Atan2Op>(op))
    return true;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isBounded(select.getTrueValue()) &&
           isBounded(select.getFalseValue());
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
          arith::ExtFOp, math::AbsFOp>(op))
    return llvm::all_of(op->getOperands(), isBounded);
  return false;
}

/// Whether a value is finite if what the block is given is.
static bool isFinite(Value value) {
  if (isBounded(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  if (isa<arith::ExtFOp, arith::NegFOp, math::AbsFOp>(op))
    return isFinite(op->getOperand(0));
  // Sums of f32 stay in their type, products of many need not.
  if (isa<arith::AddFOp, arith::SubFOp>(op) &&
      cast<FloatType>(value.getType()).getWidth() >= 32)
    return llvm::all_of(op->getOperands(), isFinite);
  if (isa<arith::MulFOp>(op))
    return llvm::all_of(op->getOperands(), isFinite) &&
           llvm::any_of(op->getOperands(), isBounded);
  return isa<arith::SIToFPOp, arith::UIToFPOp>(op);
}

Value ScalarGradients::keepZero(Location loc, Value gradient, Value result,
                                Value zero) {
  Value isZero = builder.createOrFold<arith::CmpFOp>(
      loc, arith::CmpFPredicate::OEQ, gradient, zero);
  return arith::SelectOp::create(builder, loc, isZero, zero, result);
}

bool ScalarGradients::isShared(Value value) const {
  if (isa<BlockArgument>(value))
    return shared.contains(value);
  Operation *op = value.getDefiningOp();
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (isa<arith::ExtFOp, arith::NegFOp, math::AbsFOp>(op) &&
          isShared(op->getOperand(0)));
}

/// A product without the factor `divisor`, or null if it has none: what a score
/// multiplies by a capture behind a division by it comes back so.
static Value divideOut(OpBuilder &builder, Location loc, Value product,
                       Value divisor) {
  auto op = product.getDefiningOp<arith::MulFOp>();
  if (!op)
    return Value();
  for (auto [one, other] : {std::pair(op.getLhs(), op.getRhs()),
                            std::pair(op.getRhs(), op.getLhs())}) {
    if (one == divisor)
      return other;
    if (Value rest = divideOut(builder, loc, one, divisor))
      return arith::MulFOp::create(builder, loc, rest, other, op.getFastmath());
  }
  return Value();
}

void ScalarGradients::addProduct(Location loc, Value value, Value gradient,
                                 Value factor, arith::FastMathFlags flags) {
  if (!isActive(value))
    return;
  factor = convertFloat(builder, loc, factor, gradient.getType());
  Value product =
      builder.createOrFold<arith::MulFOp>(loc, gradient, factor, flags);
  if (!isFinite(factor))
    product =
        keepZero(loc, gradient, product,
                 arith::ConstantOp::create(
                     builder, loc, builder.getZeroAttr(gradient.getType())));
  add(value, product);
}

void ScalarGradients::addQuotient(Location loc, Value value, Value gradient,
                                  Value divisor, arith::FastMathFlags flags) {
  if (!isActive(value))
    return;
  divisor = convertFloat(builder, loc, divisor, gradient.getType());
  if (Value rest = divideOut(builder, loc, gradient, divisor);
      rest && isShared(divisor))
    return add(value, rest);
  Value quotient =
      builder.createOrFold<arith::DivFOp>(loc, gradient, divisor, flags);
  APFloat number(0.0);
  bool isNumber = matchPattern(divisor, m_ConstantFloat(&number)) &&
                  number.isFiniteNonZero();
  // Only a choice may leave out what is divided by a number that all share.
  if (!isNumber && (!isShared(divisor) || chooses))
    quotient =
        keepZero(loc, gradient, quotient,
                 arith::ConstantOp::create(
                     builder, loc, builder.getZeroAttr(gradient.getType())));
  add(value, quotient);
}

void ScalarGradients::run(Block &block) {
  for (Operation &op : llvm::reverse(block))
    for (OpResult result : op.getResults())
      if (Value gradient = gradients.lookup(result);
          gradient && hasGradientRule(&op))
        addOperandGradients(&op, result.getResultNumber(), gradient, *this);
}
