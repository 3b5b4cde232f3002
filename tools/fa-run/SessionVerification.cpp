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

std::pair<AttentionOp, unsigned> fa::getAttention(func::FuncOp function,
                                                  const Output &output) {
  if (output.isArgument) {
    for (OpOperand &use : function.getArgument(output.index).getUses())
      if (auto op = dyn_cast<AttentionOp>(use.getOwner());
          op && op.isDpsInit(&use))
        return {op, use.getOperandNumber() -
                        op.getDpsInitsMutable()[0].getOperandNumber()};
    return {};
  }
  Operation *end = function.front().getTerminator();
  auto result = dyn_cast<OpResult>(end->getOperand(output.index));
  if (auto op = dyn_cast_if_present<AttentionOp>(result ? result.getOwner()
                                                        : nullptr))
    return {op, result.getResultNumber()};
  return {};
}

/// An f32 output of rank 3 next to one of rank 4 is a log-sum-exp.
static bool looksLikeLse(const Output &output, ArrayRef<Output> outputs) {
  auto rank = [](Type type) { return getInterfaceShape(type).size(); };
  return rank(output.type) == 3 &&
         getInterfaceElementType(output.type).isF32() &&
         llvm::any_of(outputs,
                      [&](const Output &o) { return rank(o.type) == 4; });
}

/// Whether a function computes gradients.
static bool hasGradients(func::FuncOp function) {
  return function
      .walk([](GradientLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

ErrorBound Session::getBound(unsigned number) {
  // Kernels of a device round the softmax to the type of the values.
  bool keepsSingle = target == TargetKind::CPU;
  Type type = outputs[number].type;
  // The function that judges may return what the entry writes.
  auto [attention, destination] =
      getAttention(judge, getOutputs(judge)[number]);
  bool isLse =
      attention ? destination == 1 : looksLikeLse(outputs[number], outputs);
  ErrorBound bound =
      hasGradients(judge) && !attention
          ? getGradientBound(type, getNarrowestType())
          : getDefaultBound(type, isLse, getNarrowestType(), keepsSingle);
  if (options.bound && bound.measure != ErrorMeasure::Exact)
    bound.limit = *options.bound;
  return bound;
}

LogicalResult Session::verifyOutputs() {
  if (outputs.empty())
    return reportError("'" + entry.getName() +
                       "' has no outputs to verify, expected a result, or a "
                       "memref that it writes");
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
