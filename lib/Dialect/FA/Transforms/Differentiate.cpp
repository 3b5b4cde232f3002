//===- Differentiate.cpp - Gradients of functions with attention ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes @f_vjp of a function @f on tensors: a copy of its body, then the walk
// back. Rules: attention, slices and shapes here, linalg.generic in
// LinalgGradients.cpp, scalars in GradientRules.cpp. Begin with
// `differentiateFunction`.
//
//===----------------------------------------------------------------------===//

#include "FunctionGradients.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FADIFFERENTIATE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Gradients of values
//===----------------------------------------------------------------------===//

bool fa::hasFloats(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

Value FunctionGradients::makeEmpty(Location loc, Value like, Type element) {
  return tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, like), element);
}

Value FunctionGradients::makeZeros(Location loc, Value like, Type element) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  return linalg::FillOp::create(builder, loc, zero,
                                makeEmpty(loc, like, element))
      .getResult(0);
}

void FunctionGradients::add(Value value, Value gradient) {
  if (!isActive(value))
    return;
  if (!isa<RankedTensorType>(value.getType()))
    return scalars.add(value, gradient);
  Value &sum = tensors[value];
  sum = sum ? Value(arith::AddFOp::create(builder, gradient.getLoc(), sum,
                                          gradient))
            : gradient;
}

Value FunctionGradients::get(Value value) const {
  return isa<RankedTensorType>(value.getType()) ? tensors.lookup(value)
                                                : scalars.get(value);
}

void FunctionGradients::activate(Value value) {
  active.insert(value);
  if (isa<FloatType>(value.getType()))
    scalars.want(value);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// The number in a tensor of rank 0.
static Value extractNumber(OpBuilder &builder, Location loc, Value tensor) {
  return tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
}

static LogicalResult differentiateAttention(AttentionOp op,
                                            FunctionGradients &gradients) {
  OpBuilder &builder = gradients.getBuilder();
  Location loc = op.getLoc();
  if (op.getKeyPages())
    return op.emitOpError("has pages, of which fa-differentiate makes no "
                          "gradient; expected a batch or packed sequences");
  if ((op.getQueryLengths() || op.getQueryStarts()) &&
      gradients.isActive(op.getOutput()))
    return op.emitError()
           << "has query " << (op.getQueryStarts() ? "starts" : "lengths")
           << " and a destination that depends on an argument, of which it "
              "keeps rows; fa-differentiate expects a tensor.empty or a "
              "constant there";
  Value output = op->getResult(0), lse = op->getResult(1);
  Value ofOutput = gradients.get(output);
  if (!ofOutput)
    ofOutput = gradients.makeZeros(loc, output,
                                   getElementTypeOrSelf(output.getType()));
  SmallVector<Value> wanted;
  SmallVector<Type> types;
  auto makeDestination = [&](Value operand) -> Value {
    if (!gradients.isActive(operand))
      return Value();
    wanted.push_back(operand);
    Value destination;
    if (isa<RankedTensorType>(operand.getType()))
      destination = gradients.makeEmpty(
          loc, operand, getElementTypeOrSelf(operand.getType()));
    else
      destination = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(),
                                            builder.getF32Type());
    types.push_back(destination.getType());
    return destination;
  };
  Value query = makeDestination(op.getQuery());
  Value key = makeDestination(op.getKey());
  Value value = makeDestination(op.getValue());
  SmallVector<Value> captures;
  SmallVector<int64_t> numbers;
  for (auto [number, capture] : llvm::enumerate(op.getScoreCaptures()))
    if (Value destination = makeDestination(capture)) {
      captures.push_back(destination);
      numbers.push_back(number);
    }
  Value scale;
  if (op.getScale())
    scale = makeDestination(op.getScale());
  // The lse includes the sink, so gradients of all else need nothing of it.
  SmallVector<Value> sinks;
  SmallVector<int64_t> sinkNumbers;
  for (auto [number, capture] : llvm::enumerate(op.getSinkCaptures()))
    if (Value destination = makeDestination(capture)) {
      sinks.push_back(destination);
      sinkNumbers.push_back(number);
    }
  ValueRange sinkCaptures;
  if (!sinks.empty())
    sinkCaptures = op.getSinkCaptures();
  auto gradient = AttentionGradientOp::create(
      builder, loc, types, op.getQuery(), op.getKey(), op.getValue(), output,
      lse, /*delta=*/Value(), ofOutput, gradients.get(lse), op.getScale(),
      op.getQueryLengths(), op.getKeyLengths(), op.getQueryStarts(),
      op.getKeyStarts(), op.getOffsets(), op.getExtents(),
      op.getScoreCaptures(), op.getMaskCaptures(), sinkCaptures, query, key,
      value, captures, scale, sinks, numbers, sinkNumbers,
      op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
      op.getOutputDimsAttr(),
      /*output_gradient_dims=*/op.getOutputDimsAttr(),
      /*query_gradient_dims=*/op.getQueryDimsAttr(),
      /*key_gradient_dims=*/op.getKeyDimsAttr(),
      /*value_gradient_dims=*/op.getValueDimsAttr(), ConfigAttr(),
      /*deterministic=*/false);
  IRMapping none;
  op.getScore().cloneInto(&gradient.getScore(), none);
  op.getMask().cloneInto(&gradient.getMask(), none);
  if (!sinks.empty())
    op.getSink().cloneInto(&gradient.getSink(), none);
  for (auto [operand, result] : llvm::zip_equal(wanted, gradient->getResults()))
    gradients.add(operand, isa<RankedTensorType>(operand.getType())
                               ? Value(result)
                               : extractNumber(builder, loc, result));
  IRRewriter rewriter(builder.getContext());
  return differentiateScore(rewriter, gradient);
}

/// Slices and shapes: the gradient goes where the elements came from.
static LogicalResult differentiateShape(Operation *op, Value gradient,
                                        FunctionGradients &gradients) {
  OpBuilder &builder = gradients.getBuilder();
  Location loc = op->getLoc();
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tensor::ExtractSliceOp>([&](auto slice) {
        Value zeros = gradients.makeZeros(loc, slice.getSource(), element);
        gradients.add(slice.getSource(),
                      tensor::InsertSliceOp::create(
                          builder, loc, gradient, zeros,
                          slice.getMixedOffsets(), slice.getMixedSizes(),
                          slice.getMixedStrides()));
        return success();
      })
      .Case<tensor::InsertSliceOp>([&](auto slice) {
        gradients.add(slice.getSource(),
                      tensor::ExtractSliceOp::create(
                          builder, loc, slice.getSourceType(), gradient,
                          slice.getMixedOffsets(), slice.getMixedSizes(),
                          slice.getMixedStrides()));
        if (gradients.isActive(slice.getDest())) {
          Value zeros = gradients.makeZeros(loc, slice.getSource(), element);
          gradients.add(slice.getDest(),
                        tensor::InsertSliceOp::create(
                            builder, loc, zeros, gradient,
                            slice.getMixedOffsets(), slice.getMixedSizes(),
                            slice.getMixedStrides()));
        }
        return success();
      })
      .Case<tensor::ExpandShapeOp>([&](auto expand) {
        gradients.add(expand.getSrc(),
                      tensor::CollapseShapeOp::create(
                          builder, loc, expand.getSrcType(), gradient,
                          expand.getReassociationIndices()));
        return success();
      })
      .Case<tensor::CollapseShapeOp>([&](auto collapse) {
        gradients.add(
            collapse.getSrc(),
            tensor::ExpandShapeOp::create(
                builder, loc, collapse.getSrcType(), gradient,
                collapse.getReassociationIndices(),
                tensor::getMixedSizes(builder, loc, collapse.getSrc())));
        return success();
      })
      .Case<tensor::CastOp>([&](auto cast) {
        gradients.add(cast.getSource(),
                      tensor::CastOp::create(
                          builder, loc, cast.getSource().getType(), gradient));
        return success();
      })
      .Case<tensor::ExtractOp>([&](auto extract) {
        Value zeros = gradients.makeZeros(loc, extract.getTensor(), element);
        gradients.add(extract.getTensor(),
                      tensor::InsertOp::create(
                          builder, loc,
                          convertFloat(builder, loc, gradient, element), zeros,
                          extract.getIndices()));
        return success();
      })
      .Default([](Operation *op) {
        return op->emitError()
               << "'" << op->getName()
               << "' has no gradient in fa-differentiate; expected "
                  "fa.attention, "
                  "arith and math, linalg with sums, and slices, casts and "
                  "shapes of tensors";
      });
}

static LogicalResult differentiateOperation(Operation *op,
                                            FunctionGradients &gradients) {
  bool hasGradient = llvm::any_of(op->getResults(), [&](Value result) {
    return hasFloats(result.getType()) && gradients.get(result);
  });
  bool isActive = false;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      isActive |= gradients.isActive(operand);
  });
  if (!hasGradient || !isActive)
    return success();
  if (auto attention = dyn_cast<AttentionOp>(op))
    return differentiateAttention(attention, gradients);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return differentiateGeneric(generic, gradients);
  if (hasGradientRule(op) && isa<FloatType>(op->getResult(0).getType())) {
    for (OpResult result : op->getResults())
      if (Value gradient = gradients.get(result))
        addOperandGradients(op, result.getResultNumber(), gradient,
                            gradients.getScalars());
    return success();
  }
  return differentiateShape(op, gradients.get(op->getResult(0)), gradients);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// An attention with lse, which its gradient reads.
static void addLse(OpBuilder &builder, AttentionOp op) {
  builder.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, op.getQuery());
  DimsAttr order = op.getQueryOrder();
  SmallVector<OpFoldResult> shape;
  for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence})
    if (order.has(kind))
      shape.push_back(sizes[order.positionOf(kind)]);
  Value lse =
      tensor::EmptyOp::create(builder, loc, shape, builder.getF32Type());
  auto with = AttentionOp::create(
      builder, loc, TypeRange{op.getOutput().getType(), lse.getType()},
      op.getQuery(), op.getKey(), op.getValue(), op.getScale(),
      op.getQueryLengths(), op.getKeyLengths(), op.getQueryStarts(),
      op.getKeyStarts(), op.getKeyPages(), op.getOffsets(), op.getExtents(),
      op.getScoreCaptures(), op.getMaskCaptures(), op.getSinkCaptures(),
      op.getOutput(), lse, op.getQueryDimsAttr(), op.getKeyDimsAttr(),
      op.getValueDimsAttr(), op.getOutputDimsAttr(), op.getConfigAttr(),
      op.getBatchInvariantAttr());
  with.getSink().takeBody(op.getSink());
  with.getScore().takeBody(op.getScore());
  with.getMask().takeBody(op.getMask());
  op->getResult(0).replaceAllUsesWith(with->getResult(0));
  op.erase();
}

/// One form for what is differentiated: linalg.generic for all of linalg and
/// for arithmetic on tensors, and attention with lse.
static LogicalResult normalize(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return failure();
  IRRewriter rewriter(context);
  SmallVector<linalg::LinalgOp> named;
  SmallVector<AttentionOp> attentions;
  function.walk([&](Operation *op) {
    // A fill with a constant is left as it is for the reader.
    if (auto fill = dyn_cast<linalg::FillOp>(op);
        fill && matchPattern(fill.getInputs()[0], m_Constant()))
      return;
    if (isa<linalg::LinalgOp>(op) && !isa<linalg::GenericOp>(op))
      named.push_back(cast<linalg::LinalgOp>(op));
    if (auto attention = dyn_cast<AttentionOp>(op);
        attention && !attention.getLse())
      attentions.push_back(attention);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    // What has no general form is refused later, if it is in the way.
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
  for (AttentionOp op : attentions)
    addLse(rewriter, op);
  return success();
}

static void findActive(Block &block, FunctionGradients &gradients) {
  for (Value argument : block.getArguments())
    if (hasFloats(argument.getType()))
      gradients.activate(argument);
  for (Operation &op : block) {
    if (isa<StopGradientOp>(op))
      continue;
    bool isActive = false;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        isActive |= gradients.isActive(operand);
    });
    for (Value result : op.getResults())
      if (isActive && hasFloats(result.getType()))
        gradients.activate(result);
  }
}

/// Fills `function`, a copy of the one to differentiate.
static LogicalResult differentiateBody(func::FuncOp function) {
  if (failed(normalize(function)))
    return failure();
  Block &block = function.front();
  auto end = cast<func::ReturnOp>(block.getTerminator());
  OpBuilder builder(end);
  FunctionGradients gradients(builder);
  findActive(block, gradients);
  SmallVector<Value> arguments(block.getArguments());
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  for (Value result : end.getOperands())
    if (hasFloats(result.getType()))
      gradients.add(result, block.addArgument(result.getType(), end.getLoc()));
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiateOperation(op, gradients)))
      return failure();
  SmallVector<Value> results;
  for (Value argument : arguments) {
    if (!hasFloats(argument.getType()))
      continue;
    Location loc = end.getLoc();
    Value gradient = gradients.get(argument);
    Type element = getElementTypeOrSelf(argument.getType());
    if (!gradient && isa<FloatType>(argument.getType()))
      gradient =
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    else if (!gradient)
      gradient = gradients.makeZeros(loc, argument, element);
    results.push_back(isa<FloatType>(argument.getType())
                          ? convertFloat(builder, loc, gradient, element)
                          : gradient);
  }
  end.getOperandsMutable().assign(results);
  function.setType(builder.getFunctionType(block.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  // Of the forward stays what the gradients read.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

FailureOr<func::FuncOp> fa::differentiateFunction(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("has control flow or no body; fa-differentiate "
                              "expects one block");
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                            function.getResultTypes()))
    if (isa<BaseMemRefType>(type) && hasFloats(type))
      return function.emitError()
             << "has an argument or result of type " << type
             << "; fa-differentiate expects tensors";
  std::string name = (function.getName() + "_vjp").str();
  auto module = function->getParentOfType<ModuleOp>();
  if (module.lookupSymbol(name))
    return function.emitError() << "has a gradient already: @" << name;
  func::FuncOp copy = function.clone();
  copy.setName(name);
  copy.setAllArgAttrs(ArrayRef<DictionaryAttr>());
  copy.setAllResultAttrs(ArrayRef<DictionaryAttr>());
  module.insert(std::next(function->getIterator()), copy);
  if (succeeded(differentiateBody(copy)))
    return copy;
  copy.erase();
  return failure();
}

namespace {
struct DifferentiatePass
    : public fa::impl::FADifferentiateBase<DifferentiatePass> {
  using FADifferentiateBase::FADifferentiateBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> chosen;
    for (auto candidate : getOperation().getOps<func::FuncOp>())
      if (function.empty() ? hasAttention(candidate)
                           : candidate.getName() == function)
        chosen.push_back(candidate);
    if (chosen.empty() && !function.empty()) {
      getOperation().emitError()
          << "has no function '" << function << "' to differentiate";
      return signalPassFailure();
    }
    for (func::FuncOp candidate : chosen)
      if (failed(differentiateFunction(candidate)))
        return signalPassFailure();
  }

  static bool hasAttention(func::FuncOp candidate) {
    return candidate.walk([](AttentionOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }
};
} // namespace
