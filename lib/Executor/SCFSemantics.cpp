//===- SCFSemantics.cpp - The scf dialect in the executor -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parallel loops run their iterations in order: a program whose result
// depends on the order has a race, which this evaluator does not look for.
// Read `compileFor`, then `runNest`, which runs parallel loops.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ProgramBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <memory>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// Programs are shared with the action, which must be movable only.
using ProgramPtr = std::unique_ptr<BlockProgram>;

static SmallVector<Use> asLastUses(ArrayRef<unsigned> registers) {
  return llvm::map_to_vector(registers,
                             [](unsigned index) { return Use{index, true}; });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static LogicalResult compileFor(scf::ForOp op, ProgramBuilder &builder) {
  unsigned lower = builder.getRegister(op.getLowerBound());
  unsigned upper = builder.getRegister(op.getUpperBound());
  unsigned step = builder.getRegister(op.getStep());
  SmallVector<Use> inits = builder.getUses(op.getInitArgsMutable());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  FailureOr<ProgramPtr> body = builder.compileBody(op.getRegion());
  if (failed(body))
    return failure();
  unsigned width = getIntegerWidth(op.getInductionVar().getType());
  bool isUnsigned = op.getUnsignedCmp();
  builder.emit([=, body = std::move(*body)](Frame &frame) -> LogicalResult {
    ArrayRef<unsigned> arguments(body->arguments);
    ArrayRef<unsigned> carried = arguments.drop_front();
    int64_t begin = frame.integer(lower), end = frame.integer(upper);
    int64_t by = frame.integer(step);
    if (asSigned(by, width) <= 0)
      return op->emitError("loop step ") << by << " is not positive";
    transfer(frame, inits, carried);
    auto isBelow = [&](int64_t a, int64_t b) {
      return isUnsigned ? asUnsigned(a, width) < asUnsigned(b, width) : a < b;
    };
    int64_t index = begin;
    while (isBelow(index, end)) {
      frame.slot(arguments[0]).integer = index;
      if (failed(body->run(frame)))
        return failure();
      transfer(frame, body->results, carried);
      if (llvm::AddOverflow(index, by, index))
        break;
    }
    transfer(frame, asLastUses(carried), results);
    return success();
  });
  return success();
}

static LogicalResult compileWhile(scf::WhileOp op, ProgramBuilder &builder) {
  SmallVector<Use> inits = builder.getUses(op.getInitsMutable());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  FailureOr<ProgramPtr> before = builder.compileBody(op.getBefore());
  if (failed(before))
    return failure();
  FailureOr<ProgramPtr> after = builder.compileBody(op.getAfter());
  if (failed(after))
    return failure();
  builder.emit([=, before = std::move(*before),
                after = std::move(*after)](Frame &frame) -> LogicalResult {
    transfer(frame, inits, before->arguments);
    while (true) {
      if (failed(before->run(frame)))
        return failure();
      ArrayRef<Use> condition(before->results);
      if (!frame.integer(condition[0].index)) {
        transfer(frame, condition.drop_front(), results);
        return success();
      }
      transfer(frame, condition.drop_front(), after->arguments);
      if (failed(after->run(frame)))
        return failure();
      transfer(frame, after->results, before->arguments);
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

/// Runs the body over the product of the ranges, last dimension innermost, and
/// `reduce` behind each iteration.
static LogicalResult runNest(
    Operation *op, Frame &frame, const BlockProgram &body,
    ArrayRef<IndexOperand> lower, ArrayRef<IndexOperand> upper,
    ArrayRef<IndexOperand> step,
    llvm::function_ref<LogicalResult()> reduce = [] { return success(); }) {
  size_t rank = lower.size();
  SmallVector<int64_t> begin, end, by;
  for (size_t i = 0; i < rank; ++i) {
    begin.push_back(lower[i].get(frame));
    end.push_back(upper[i].get(frame));
    by.push_back(step[i].get(frame));
    if (by[i] <= 0)
      return op->emitError("loop step ") << by[i] << " is not positive";
  }
  for (size_t i = 0; i < rank; ++i)
    if (begin[i] >= end[i])
      return success();
  SmallVector<int64_t> index(begin);
  while (true) {
    for (size_t i = 0; i < rank; ++i)
      frame.slot(body.arguments[i]).integer = index[i];
    if (failed(body.run(frame)) || failed(reduce()))
      return failure();
    size_t dim = rank;
    while (dim > 0 && (index[dim - 1] += by[dim - 1]) >= end[dim - 1]) {
      index[dim - 1] = begin[dim - 1];
      --dim;
    }
    if (dim == 0)
      return success();
  }
}

/// The tensors behind shared_outs are the body's last arguments; the
/// terminator's parallel_insert_slice operations update those registers.
static LogicalResult compileForall(scf::ForallOp op, ProgramBuilder &builder) {
  SmallVector<IndexOperand> lower =
      builder.getIndexOperands(op.getMixedLowerBound());
  SmallVector<IndexOperand> upper =
      builder.getIndexOperands(op.getMixedUpperBound());
  SmallVector<IndexOperand> step = builder.getIndexOperands(op.getMixedStep());
  SmallVector<Use> outputs = builder.getUses(op.getOutputsMutable());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  FailureOr<ProgramPtr> body = builder.compileBody(op.getRegion());
  if (failed(body))
    return failure();
  builder.emit([=, body = std::move(*body)](Frame &frame) -> LogicalResult {
    auto shared = ArrayRef<unsigned>(body->arguments).drop_front(lower.size());
    transfer(frame, outputs, shared);
    if (failed(runNest(op, frame, *body, lower, upper, step)))
      return failure();
    transfer(frame, asLastUses(shared), results);
    return success();
  });
  return success();
}

static LogicalResult compileInParallel(scf::InParallelOp op,
                                       ProgramBuilder &builder) {
  for (Operation &insertion : op.getYieldingOps())
    if (failed(builder.compileOperation(&insertion)))
      return failure();
  return success();
}

static LogicalResult compileParallel(scf::ParallelOp op,
                                     ProgramBuilder &builder) {
  auto getAll = [&](OperandRange values) {
    return builder.getIndexOperands(getAsOpFoldResult(values));
  };
  SmallVector<IndexOperand> lower = getAll(op.getLowerBound());
  SmallVector<IndexOperand> upper = getAll(op.getUpperBound());
  SmallVector<IndexOperand> step = getAll(op.getStep());
  SmallVector<Use> inits = builder.getUses(op.getInitValsMutable());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  FailureOr<ProgramPtr> body = builder.compileBody(op.getRegion());
  if (failed(body))
    return failure();
  std::vector<ProgramPtr> reductions;
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  for (Region &region : reduce.getReductions()) {
    FailureOr<ProgramPtr> reduction = builder.compileBody(region);
    if (failed(reduction))
      return failure();
    reductions.push_back(std::move(*reduction));
  }
  builder.emit([=, body = std::move(*body), reductions = std::move(reductions)](
                   Frame &frame) -> LogicalResult {
    transfer(frame, inits, results);
    auto addIteration = [&]() -> LogicalResult {
      for (auto [number, reduction] : llvm::enumerate(reductions)) {
        ArrayRef<unsigned> both(reduction->arguments);
        transfer(frame, asLastUses(ArrayRef(results).slice(number, 1)),
                 both.take_front());
        transfer(frame, ArrayRef<Use>(body->results).slice(number, 1),
                 both.drop_front());
        if (failed(reduction->run(frame)))
          return failure();
        transfer(frame, reduction->results, ArrayRef(results).slice(number, 1));
      }
      return success();
    };
    return runNest(op, frame, *body, lower, upper, step, addIteration);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static LogicalResult compileIf(scf::IfOp op, ProgramBuilder &builder) {
  unsigned condition = builder.getRegister(op.getCondition());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  FailureOr<ProgramPtr> thenBody = builder.compileBody(op.getThenRegion());
  if (failed(thenBody))
    return failure();
  auto elseBody = std::make_unique<BlockProgram>();
  if (!op.getElseRegion().empty() &&
      failed(builder.compileRegion(op.getElseRegion(), *elseBody)))
    return failure();
  builder.emit([=, thenBody = std::move(*thenBody),
                elseBody = std::move(elseBody)](Frame &frame) -> LogicalResult {
    const BlockProgram &body = frame.integer(condition) ? *thenBody : *elseBody;
    if (failed(body.run(frame)))
      return failure();
    transfer(frame, body.results, results);
    return success();
  });
  return success();
}

void executor::addSCFSemantics(Semantics &semantics) {
  semantics.add<scf::ForOp>(compileFor);
  semantics.add<scf::WhileOp>(compileWhile);
  semantics.add<scf::ForallOp>(compileForall);
  semantics.add<scf::InParallelOp>(compileInParallel);
  semantics.add<scf::ParallelOp>(compileParallel);
  semantics.add<scf::IfOp>(compileIf);
}
