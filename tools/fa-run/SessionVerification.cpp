//===- SessionVerification.cpp - What a session compares with -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputSpec.h"
#include "SessionState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static bool castsFloatsToBits(ModuleOp module) {
  return module
      .walk([](arith::BitcastOp op) {
        bool fromFloat = isa<FloatType>(getElementTypeOrSelf(op.getIn()));
        bool toFloat = isa<FloatType>(getElementTypeOrSelf(op.getOut()));
        return fromFloat != toFloat ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

const NumberPolicy &Session::getPolicy(ModuleOp module) {
  bool isDeclared =
      options.precision == Precision::Declared ||
      (options.precision == Precision::Auto && castsFloatsToBits(module));
  return isDeclared ? getDeclaredPolicy() : getFloat64Policy();
}

/// The type that bounds depend on: the query's, or, without an attention to
/// ask, the narrowest float type among the arguments.
Type Session::getNarrowestType() {
  Type queryType;
  judge.walk([&](AttentionLikeOpInterface op) {
    queryType = getInterfaceElementType(op.getQuery().getType());
  });
  if (queryType)
    return queryType;
  Type narrowest = Float32Type::get(&context);
  for (Type type : judge.getArgumentTypes()) {
    Type element = getInterfaceElementType(type);
    if (element.isBF16() || (element.isF16() && !narrowest.isBF16()))
      narrowest = element;
  }
  return narrowest;
}

/// An f32 output of rank 3 next to one of rank 4 is a log-sum-exp.
static bool isLse(const Output &output, ArrayRef<Output> outputs) {
  auto rank = [](Type type) { return getInterfaceShape(type).size(); };
  return rank(output.type) == 3 &&
         getInterfaceElementType(output.type).isF32() &&
         llvm::any_of(outputs,
                      [&](const Output &o) { return rank(o.type) == 4; });
}

/// Whether an output of a function is what an attention writes, not a gradient
/// of one or what is made of both.
static bool isOfForward(func::FuncOp function, const Output &output) {
  auto isAttention = [](Operation *op) {
    return isa_and_present<AttentionOp>(op);
  };
  if (output.isArgument)
    return llvm::any_of(function.getArgument(output.index).getUses(),
                        [&](OpOperand &use) {
                          auto op = dyn_cast<AttentionOp>(use.getOwner());
                          return op && op.isDpsInit(&use);
                        });
  Operation *end = function.front().getTerminator();
  return isAttention(end->getOperand(output.index).getDefiningOp());
}

/// Whether a function computes gradients.
static bool hasGradients(func::FuncOp function) {
  return function
      .walk([](GradientLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

ErrorBound Session::getBound(const Output &output) {
  // Kernels of a device round the softmax to the type of the values.
  bool keepsSingle = target == TargetKind::CPU;
  ErrorBound bound = hasGradients(judge) && !isOfForward(judge, output)
                         ? getGradientBound(output.type, getNarrowestType())
                         : getDefaultBound(output.type, isLse(output, outputs),
                                           getNarrowestType(), keepsSingle);
  if (options.bound && bound.measure != ErrorMeasure::Exact)
    bound.limit = *options.bound;
  return bound;
}

LogicalResult Session::verifyOutputs() {
  SampleOptions sample;
  sample.maxOperations = options.verifyWork;
  sample.seed = options.seed;
  ModuleOp module = judge->getParentOfType<ModuleOp>();
  const NumberPolicy &policy = getPolicy(module);
  report.referencePrecision = policy.getName();
  auto evaluation =
      Reference(module, policy).evaluate(judge, inputs, results, sample);
  if (failed(evaluation))
    return failure();
  expected = std::move(*evaluation);
  if (expected.outputs.size() != outputs.size())
    return reportError("'" + judge.getName() + "' of '" + options.against +
                       "' has " + Twine(expected.outputs.size()) +
                       " outputs, but '" + entry.getName() + "' has " +
                       Twine(outputs.size()));
  report.totalRows = expected.totalRows;
  report.sampleThreshold = options.verifyWork;
  if (expected.rows)
    report.sampledRows = expected.rows->size();
  return success();
}
