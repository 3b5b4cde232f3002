//===- FASemantics.cpp - Attention in the executor ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention by its definition, in doubles: the reference that compiled code
// is compared with. It also evaluates chosen rows alone, and counts visible
// pairs. Read `reduceRow`, the softmax of one row, then `runAttention`;
// `runStep` is the online form. Gradients are in AttentionGradient.cpp.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/FASemantics.h"
#include "AttentionOperands.h"
#include "FAParts.h"
#include "KernelHelpers.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// fa.attention
//===----------------------------------------------------------------------===//

namespace {
struct WholePlan : AttentionPlan {
  DimsAttr outputOrder;
  Use output;
  std::optional<Use> lse;
  CompiledRegion sink;
  SmallVector<unsigned> results;
};
} // namespace

using RowChoice = std::optional<std::vector<RowIndex>>;

/// Queries of one batch and head to evaluate, relative to this piece.
static std::vector<int64_t> getQueries(const RowChoice &rows, int64_t batch,
                                       int64_t head, int64_t count) {
  std::vector<int64_t> queries;
  if (!rows) {
    for (int64_t query = 0; query < count; ++query)
      queries.push_back(query);
    return queries;
  }
  auto it = llvm::lower_bound(*rows, RowIndex{batch, head, 0});
  for (; it != rows->end() && it->batch == batch && it->head == head; ++it)
    if (it->query < count)
      queries.push_back(it->query);
  return queries;
}

/// The softmax of the evaluator's scores applied to the values; returns the
/// lse. A row without weight is 0 with lse -inf. Where there is no sink it is
/// -inf.
static double reduceRow(const RowEvaluator &rows, const HeadData &head,
                        double sink, std::vector<double> &output) {
  output.assign(head.valueHeadDim, 0.0);
  double maximum = rows.getMaximum();
  maximum = std::isnan(sink) || std::isnan(maximum) ? sink + maximum
                                                    : std::max(maximum, sink);
  if (maximum == -infinity)
    return -infinity;
  // The sink is a key of value zero.
  double sum = std::exp(sink - maximum);
  for (auto [key, x, factor] : llvm::zip_equal(
           rows.getVisible(), rows.getScores(), rows.getFactors())) {
    double weight = std::exp(x - maximum);
    sum += weight;
    addWeightedValue(head, key, weight * factor, output.data());
  }
  for (double &value : output)
    value /= sum;
  return maximum + std::log(sum);
}

namespace {
/// One run of a whole attention.
struct WholeRun {
  const WholePlan &plan;
  Frame &frame;
  AttentionRun operands;
  RowEvaluator rows;
  LaneState sink;
  RowChoice chosen;

  FailureOr<double> getSink(const RowPosition &position) {
    if (position.isBroken)
      return std::numeric_limits<double>::quiet_NaN();
    if (plan.sink.isEmpty())
      return -infinity;
    plan.sink.setRow(sink, position);
    if (failed(plan.sink.run(sink, 1)))
      return failure();
    return plan.sink.getResult(sink)->real;
  }
};
} // namespace

/// Whether a row sees a key in a page that is none.
static bool seesMissing(const RowEvaluator &rows, const HeadData &data) {
  return !data.isMissing.empty() &&
         llvm::any_of(rows.getVisible(),
                      [&](int64_t key) { return data.isMissing[key]; });
}

static LogicalResult runHead(WholeRun &run, const OrderedOperand &output,
                             Array *lse, int64_t batch, int64_t head) {
  const AttentionRun &operands = run.operands;
  FailureOr<RowPosition> position =
      getHeadPosition(run.plan, run.frame, operands, batch, head);
  if (failed(position))
    return failure();
  std::vector<int64_t> queries =
      getQueries(run.chosen, batch, head,
                 operands.isRagged ? position->queryLength
                                   : operands.query.getSize(DimKind::Sequence));
  if (queries.empty())
    return success();
  int64_t group = operands.query.getSize(DimKind::Heads) /
                  operands.key.getSize(DimKind::Heads);
  HeadData data =
      packHead(operands, batch, head / group, getNumKeys(operands, *position));
  std::vector<double> queryRow(operands.headDim), outputRow;
  for (int64_t query : queries) {
    position->query = operands.offsets[2] + query;
    if (position->query >= position->queryLength)
      continue;
    operands.query.read(batch, query, head, queryRow.data());
    if (failed(run.rows.findVisible(*position, data, MaskUse::Apply)) ||
        failed(run.rows.computeScores(*position, data, queryRow.data(),
                                      operands.scale)))
      return failure();
    FailureOr<double> sink = run.getSink(*position);
    if (failed(sink))
      return failure();
    if (seesMissing(run.rows, data))
      *sink = std::numeric_limits<double>::quiet_NaN();
    double logSum = reduceRow(run.rows, data, *sink, outputRow);
    Slot *target = output.getRow(batch, query, head);
    for (int64_t dim = 0; dim < operands.valueHeadDim; ++dim)
      target[dim * output.getStep()].real = outputRow[dim];
    if (lse)
      getRowNumber(operands, *lse, batch, head, query).real = logSum;
  }
  return success();
}

static LogicalResult runHeads(WholeRun &run, const OrderedOperand &output,
                              Array *lse) {
  const Execution &execution = *run.frame.execution;
  if (execution.countedWork)
    return countWork(run.plan, run.frame, run.operands, /*factor=*/1,
                     *execution.countedWork);
  const OrderedOperand &query = run.operands.query;
  int64_t batches = run.operands.batches;
  int64_t heads = query.getSize(DimKind::Heads);
  if (execution.chooseRows) {
    auto most = getMostRows(run.plan, run.frame, run.operands);
    if (failed(most))
      return failure();
    run.chosen =
        execution.chooseRows({batches, heads, most->first, most->second,
                              run.operands.headDim, run.operands.valueHeadDim});
  }
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t head = 0; head < heads; ++head)
      if (failed(runHead(run, output, lse, batch, head)))
        return failure();
  return success();
}

static LogicalResult runAttention(const WholePlan &plan, Frame &frame) {
  FailureOr<AttentionRun> run = bindOperands(plan, frame);
  if (failed(run))
    return failure();
  bool onTensors = !plan.results.empty();
  ArrayRefPtr outputArray = getDestination(frame, plan.output, onTensors);
  ArrayRefPtr lse =
      plan.lse ? getDestination(frame, *plan.lse, onTensors) : nullptr;
  OrderedOperand output(*outputArray, plan.outputOrder);
  output.starts = run->query.starts;
  if (failed(checkLikeQuery(plan, *run, "output", output, run->valueHeadDim)) ||
      (lse && failed(checkRowNumbers(plan, *run, "lse", *lse))))
    return failure();
  WholeRun whole{plan,
                 frame,
                 *run,
                 RowEvaluator(plan.op, plan.score, plan.mask, frame),
                 plan.sink.bind(frame),
                 RowChoice()};
  if (failed(runHeads(whole, output, lse.get())))
    return failure();
  if (onTensors) {
    frame[plan.results[0]] = outputArray;
    if (lse)
      frame[plan.results[1]] = lse;
  }
  return success();
}

static LogicalResult compileAttention(AttentionOp op, ProgramBuilder &builder,
                                      MissingPage missing) {
  WholePlan plan;
  plan.spoilsSequences = missing == MissingPage::SpoilsSequence;
  if (failed(compileOperands(op, plan, builder)))
    return failure();
  if (op.getQueryLengths())
    plan.queryLengths = builder.getRegister(op.getQueryLengths());
  if (op.getKeyLengths())
    plan.keyLengths = builder.getRegister(op.getKeyLengths());
  if (op.getQueryStarts())
    plan.queryStarts = builder.getRegister(op.getQueryStarts());
  if (op.getKeyStarts())
    plan.keyStarts = builder.getRegister(op.getKeyStarts());
  if (op.getKeyPages())
    plan.keyPages = builder.getRegister(op.getKeyPages());
  auto sink = CompiledRegion::compile(
      {&op.getSink(), /*numElements=*/0, op.getSinkCaptures(), 3}, builder);
  if (failed(sink))
    return failure();
  plan.sink = std::move(*sink);
  plan.outputOrder = op.getOutputOrder();
  plan.output = builder.getUse(op.getOutputMutable());
  if (op.getLse())
    plan.lse = builder.getUse(*op.getLseMutable().begin());
  plan.results = builder.getRegisters(op->getResults());
  builder.emit([plan = std::move(plan)](Frame &frame) {
    return runAttention(plan, frame);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.online_attention
//===----------------------------------------------------------------------===//

namespace {
struct StepPlan : AttentionPlan {
  Use state[3];
  SmallVector<unsigned> results;
};

/// One row of the state.
struct RowState {
  Slot *accumulator;
  int64_t step;
  Slot *maximum;
  Slot *sum;
};
} // namespace

static void updateRow(const RowEvaluator &rows, const HeadData &head,
                      RowState state, std::vector<double> &weighted) {
  double previous = state.maximum->real;
  double block = rows.getMaximum();
  double maximum = std::isnan(block) || std::isnan(previous)
                       ? previous + block
                       : std::max(previous, block);
  // Before the first visible key there is nothing to rescale.
  double decay = previous == -infinity ? 0.0 : std::exp(previous - maximum);
  weighted.assign(head.valueHeadDim, 0.0);
  double sum = 0;
  if (maximum != -infinity)
    for (auto [key, x, factor] : llvm::zip_equal(
             rows.getVisible(), rows.getScores(), rows.getFactors())) {
      double weight = std::exp(x - maximum);
      sum += weight;
      addWeightedValue(head, key, weight * factor, weighted.data());
    }
  state.maximum->real = maximum;
  state.sum->real = state.sum->real * decay + sum;
  for (int64_t dim = 0; dim < head.valueHeadDim; ++dim) {
    Slot &slot = state.accumulator[dim * state.step];
    slot.real = slot.real * decay + weighted[dim];
  }
}

static LogicalResult runStep(const StepPlan &plan, Frame &frame) {
  FailureOr<AttentionRun> run = bindOperands(plan, frame);
  if (failed(run))
    return failure();
  bool onTensors = !plan.results.empty();
  SmallVector<ArrayRefPtr, 3> state;
  for (Use use : plan.state)
    state.push_back(getDestination(frame, use, onTensors));
  int64_t numQueries = run->query.getSize(DimKind::Sequence);
  for (const ArrayRefPtr &array : state)
    if (array->shape[0] < numQueries)
      return plan.op->emitError() << "the state has " << array->shape[0]
                                  << " rows for " << numQueries << " queries";
  const Execution &execution = *frame.execution;
  MaskUse use = getMaskUse(execution);
  RowPosition position = getStepPosition(plan, *run);
  if (execution.onKeyBlock) {
    execution.onKeyBlock(
        {position.batch, position.head, run->offsets[2], run->offsets[3],
         numQueries, run->key.getSize(DimKind::Sequence), position.queryLength,
         position.keyLength, execution.inFullRange});
    for (auto [index, array] : llvm::zip(plan.results, state))
      frame[index] = array;
    return success();
  }
  HeadData data = packHead(*run, 0, 0, run->key.getSize(DimKind::Sequence));
  RowEvaluator rows(plan.op, plan.score, plan.mask, frame);
  std::vector<double> queryRow(run->headDim), weighted;
  for (int64_t query = 0; query < numQueries; ++query) {
    position.query = run->offsets[2] + query;
    run->query.read(0, query, 0, queryRow.data());
    if (failed(rows.findVisible(position, data, use)))
      return failure();
    if (AttentionWork *work = execution.countedWork) {
      double pairs = rows.getVisible().size();
      work->pairs += pairs;
      work->operations += pairs * 2 * (run->headDim + run->valueHeadDim);
      continue;
    }
    if (failed(rows.computeScores(position, data, queryRow.data(), run->scale)))
      return failure();
    updateRow(rows, data,
              {state[0]->data() + query * state[0]->strides[0],
               state[0]->strides[1],
               state[1]->data() + query * state[1]->strides[0],
               state[2]->data() + query * state[2]->strides[0]},
              weighted);
  }
  poisonPadding(state, numQueries);
  for (auto [index, array] : llvm::zip(plan.results, state))
    frame[index] = array;
  return success();
}

static LogicalResult compileStep(OnlineAttentionOp op,
                                 ProgramBuilder &builder) {
  StepPlan plan;
  if (failed(compileOperands(op, plan, builder)))
    return failure();
  plan.state[0] = builder.getUse(op.getAccumulatorMutable());
  plan.state[1] = builder.getUse(op.getMaximumMutable());
  plan.state[2] = builder.getUse(op.getSumMutable());
  plan.results = builder.getRegisters(op->getResults());
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return runStep(plan, frame); });
  return success();
}

void executor::addFASemantics(Semantics &semantics, MissingPage missing) {
  semantics.add<AttentionOp>(
      [missing](AttentionOp op, ProgramBuilder &builder) {
        return compileAttention(op, builder, missing);
      });
  semantics.add<OnlineAttentionOp>(compileStep);
  semantics.addElementwise<StopGradientOp>([](StopGradientOp) {
    return FailureOr<Kernel>(makeUnary([](Slot a) { return a; }));
  });
  addAppendSemantics(semantics);
  addApplySemantics(semantics);
  addWholeGradientSemantics(semantics);
  addGradientSemantics(semantics);
  addFAStateSemantics(semantics);
  addDropoutSemantics(semantics);
  addSequenceErrorSemantics(semantics);
}
