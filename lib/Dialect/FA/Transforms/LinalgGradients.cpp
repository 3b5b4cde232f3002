//===- LinalgGradients.cpp - Gradients of linalg.generic ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule for elementwise operations, products, transposes, broadcasts and
// sums: the gradient of an input is a sum over the loops that its map leaves
// out, of the derivative of the body times the gradients of the results. Begin
// with `differentiateGeneric`, then `differentiateInput` and `buildDerivative`.
//
//===----------------------------------------------------------------------===//

#include "FunctionGradients.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// What a result is made of: `value` of the body, added to the destination or
/// in place of it.
struct Summand {
  unsigned result;
  Value value;
  bool isSum;
};
} // namespace

/// The value that a body adds to its destination, or yields.
static FailureOr<Value> getSummand(linalg::GenericOp op, unsigned number,
                                   bool &isSum) {
  Block &body = *op.getBody();
  Value yielded = body.getTerminator()->getOperand(number);
  BlockArgument destination = body.getArgument(op.getNumDpsInputs() + number);
  isSum = !destination.use_empty();
  if (!isSum)
    return yielded;
  auto sum = yielded.getDefiningOp<arith::AddFOp>();
  if (sum && destination.hasOneUse() &&
      (sum.getLhs() == destination || sum.getRhs() == destination))
    return sum.getLhs() == destination ? sum.getRhs() : sum.getLhs();
  return op.emitError("reads its destination in another way than to add to it, "
                      "which has no gradient in fa-differentiate");
}

/// Values from outside are no inputs: their gradients would have no loops.
static LogicalResult checkCaptures(linalg::GenericOp op,
                                   FunctionGradients &gradients) {
  for (Operation &nested : *op.getBody())
    for (Value operand : nested.getOperands())
      if (operand.getParentBlock() != op.getBody() &&
          gradients.isActive(operand))
        return op.emitError("reads a value from outside that depends on an "
                            "argument; fa-differentiate expects it among the "
                            "inputs");
  return success();
}

/// The body of the gradient of input `input`; yields the sum of `destination`
/// and the derivative.
static Value buildDerivative(OpBuilder &builder, linalg::GenericOp op,
                             unsigned input, ArrayRef<Summand> summands,
                             ValueRange arguments) {
  Block &body = *op.getBody();
  IRMapping copies;
  copies.map(body.getArguments().take_front(op.getNumDpsInputs()),
             arguments.take_front(op.getNumDpsInputs()));
  ScalarGradients derivative(builder, copies);
  derivative.want(body.getArgument(input));
  if (failed(derivative.analyze(
          body, llvm::map_to_vector(summands, [](const Summand &summand) {
            return summand.value;
          }))))
    return Value();
  Block *block = builder.getInsertionBlock();
  for (Value destination : body.getArguments().drop_front(op.getNumDpsInputs()))
    copies.map(destination, arith::ConstantOp::create(
                                builder, op.getLoc(),
                                builder.getZeroAttr(destination.getType())));
  cloneValues(builder, body, copies);
  for (auto [position, summand] : llvm::enumerate(summands))
    derivative.add(summand.value, arguments[op.getNumDpsInputs() + position]);
  derivative.run(body);
  Value result = derivative.get(body.getArgument(input));
  if (!result)
    result = arith::ConstantOp::create(builder, op.getLoc(),
                                       builder.getZeroAttr(getGradientType(
                                           body.getArgument(input).getType())));
  for (Operation &nested : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (&nested != result.getDefiningOp() && isOpTriviallyDead(&nested))
      nested.erase();
  return result;
}

static LogicalResult differentiateInput(linalg::GenericOp op, unsigned number,
                                        ArrayRef<Summand> summands,
                                        FunctionGradients &gradients) {
  OpBuilder &builder = gradients.getBuilder();
  Location loc = op.getLoc();
  OpOperand *operand = op.getDpsInputOperand(number);
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (!map.isProjectedPermutation())
    return op.emitError() << "reads input " << number << " by "
                          << AffineMapAttr::get(map)
                          << ", whose gradient fa-differentiate has not; "
                             "expected a projected permutation";
  Type element = getElementTypeOrSelf(operand->get().getType());
  Type sumType = getGradientType(element);
  SmallVector<Value> inputs = op.getDpsInputs();
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands())
    maps.push_back(op.getMatchingIndexingMap(input));
  for (const Summand &summand : summands) {
    inputs.push_back(gradients.get(op->getResult(summand.result)));
    maps.push_back(
        op.getMatchingIndexingMap(op.getDpsInitOperand(summand.result)));
  }
  SmallVector<utils::IteratorType> loops(op.getNumLoops(),
                                         utils::IteratorType::reduction);
  for (AffineExpr expr : map.getResults())
    loops[cast<AffineDimExpr>(expr).getPosition()] =
        utils::IteratorType::parallel;
  bool isSum = llvm::is_contained(loops, utils::IteratorType::reduction);
  Type yieldType = isSum ? sumType : element;
  auto makeDestination = [&]() -> Value {
    if (isa<FloatType>(operand->get().getType()))
      return tensor::FromElementsOp::create(
          builder, loc, RankedTensorType::get({}, yieldType),
          ValueRange(arith::ConstantOp::create(
              builder, loc, builder.getZeroAttr(yieldType))));
    return isSum ? gradients.makeZeros(loc, operand->get(), yieldType)
                 : gradients.makeEmpty(loc, operand->get(), yieldType);
  };
  Value destination = makeDestination();
  maps.push_back(map);
  bool isDerived = true;
  auto generic = linalg::GenericOp::create(
      builder, loc, destination.getType(), inputs, destination, maps, loops,
      [&](OpBuilder &nested, Location at, ValueRange arguments) {
        Value derivative =
            buildDerivative(nested, op, number, summands, arguments);
        isDerived = derivative != nullptr;
        Value result = isDerived ? derivative : arguments.back();
        result = convertFloat(nested, at, result, yieldType);
        if (isSum)
          result = arith::AddFOp::create(nested, at, arguments.back(), result);
        linalg::YieldOp::create(nested, at, result);
      });
  if (!isDerived)
    return failure();
  Value result = generic.getResult(0);
  if (isa<FloatType>(operand->get().getType()))
    result = tensor::ExtractOp::create(builder, loc, result, ValueRange());
  else if (isSum && sumType != element)
    result =
        arith::TruncFOp::create(builder, loc, operand->get().getType(), result);
  gradients.add(operand->get(), result);
  return success();
}

LogicalResult fa::differentiateGeneric(linalg::GenericOp op,
                                       FunctionGradients &gradients) {
  if (failed(checkCaptures(op, gradients)))
    return failure();
  SmallVector<Summand> summands;
  for (OpResult result : op->getResults()) {
    Value gradient = gradients.get(result);
    if (!gradient)
      continue;
    bool isSum = false;
    FailureOr<Value> value = getSummand(op, result.getResultNumber(), isSum);
    if (failed(value))
      return failure();
    summands.push_back({result.getResultNumber(), *value, isSum});
  }
  for (OpOperand *input : op.getDpsInputOperands())
    if (gradients.isActive(input->get()) &&
        failed(differentiateInput(op, input->getOperandNumber(), summands,
                                  gradients)))
      return failure();
  for (const Summand &summand : summands)
    if (summand.isSum)
      gradients.add(op.getDpsInits()[summand.result],
                    gradients.get(op->getResult(summand.result)));
  return success();
}
