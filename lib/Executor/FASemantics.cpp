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
// `runStep` is the online form.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/FASemantics.h"
#include "AttentionRow.h"
#include "FAParts.h"
#include "OrderedOperand.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What an attention and a step of it have in common.
struct AttentionPlan {
  Operation *op = nullptr;
  unsigned query = 0, key = 0, value = 0;
  DimsAttr queryOrder, keyOrder, valueOrder;
  std::optional<unsigned> scale, queryLengths, keyLengths;
  SmallVector<unsigned> offsets, extents;
  CompiledRegion score, mask;
};

/// The operands of one run.
struct AttentionRun {
  OrderedOperand query, key, value;
  int64_t headDim, valueHeadDim;
  int64_t offsets[4] = {0, 0, 0, 0};
  int64_t extents[2];
  double scale;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static LogicalResult compileCommon(AttentionLikeOpInterface op,
                                   AttentionPlan &plan,
                                   ProgramBuilder &builder) {
  plan.op = op;
  plan.query = builder.getRegister(op.getQuery());
  plan.key = builder.getRegister(op.getKey());
  plan.value = builder.getRegister(op.getValue());
  plan.queryOrder = op.getQueryOrder();
  plan.keyOrder = op.getKeyOrder();
  plan.valueOrder = op.getValueOrder();
  if (Value scale = op.getScale())
    plan.scale = builder.getRegister(scale);
  plan.offsets = builder.getRegisters(op.getOffsets());
  plan.extents = builder.getRegisters(op.getExtents());
  auto score = CompiledRegion::compile(
      {&op.getScore(), /*numElements=*/1, op.getScoreCaptures()}, builder);
  auto mask = CompiledRegion::compile(
      {&op.getMask(), /*numElements=*/0, op.getMaskCaptures()}, builder);
  if (failed(score) || failed(mask))
    return failure();
  plan.score = std::move(*score);
  plan.mask = std::move(*mask);
  return success();
}

static LogicalResult checkEqual(Operation *op, StringRef name, int64_t size,
                                int64_t expected) {
  if (size == expected)
    return success();
  return op->emitError() << "'" << op->getName() << "' " << name << " is "
                         << size << " at run time where " << expected
                         << " was expected";
}

/// Dynamic sizes can only be compared now.
static LogicalResult checkSizesAgree(Operation *op, const AttentionRun &run) {
  int64_t heads = run.query.getSize(DimKind::Heads);
  int64_t keyHeads = run.key.getSize(DimKind::Heads);
  if (failed(checkEqual(op, "batch size of the key",
                        run.key.getSize(DimKind::Batch),
                        run.query.getSize(DimKind::Batch))) ||
      failed(checkEqual(op, "batch size of the value",
                        run.value.getSize(DimKind::Batch),
                        run.query.getSize(DimKind::Batch))) ||
      failed(checkEqual(op, "number of values",
                        run.value.getSize(DimKind::Sequence),
                        run.key.getSize(DimKind::Sequence))) ||
      failed(checkEqual(op, "number of value heads",
                        run.value.getSize(DimKind::Heads), keyHeads)) ||
      failed(checkEqual(op, "head dim of the key",
                        run.key.getSize(DimKind::HeadDim),
                        run.query.getSize(DimKind::HeadDim))))
    return failure();
  if (heads > 0 && (keyHeads == 0 || heads % keyHeads != 0))
    return op->emitError() << "'" << op->getName() << "' has " << heads
                           << " query heads, no multiple of the " << keyHeads
                           << " key heads";
  return success();
}

static FailureOr<AttentionRun> bindCommon(const AttentionPlan &plan,
                                          Frame &frame) {
  AttentionRun run{OrderedOperand(frame.array(plan.query), plan.queryOrder),
                   OrderedOperand(frame.array(plan.key), plan.keyOrder),
                   OrderedOperand(frame.array(plan.value), plan.valueOrder), 0,
                   0};
  run.headDim = run.query.getSize(DimKind::HeadDim);
  run.valueHeadDim = run.value.getSize(DimKind::HeadDim);
  for (auto [i, index] : llvm::enumerate(plan.offsets))
    run.offsets[i] = frame.integer(index);
  run.extents[0] = run.query.getSize(DimKind::Sequence);
  run.extents[1] = run.key.getSize(DimKind::Sequence);
  for (auto [i, index] : llvm::enumerate(plan.extents))
    run.extents[i] = frame.integer(index);
  run.scale = plan.scale ? frame.slot(*plan.scale).real
                         : 1.0 / std::sqrt(static_cast<double>(run.headDim));
  for (unsigned index : {plan.query, plan.key, plan.value})
    if (failed(checkLive(plan.op, frame.array(index))))
      return failure();
  if (failed(checkSizesAgree(plan.op, run)))
    return failure();
  return run;
}

/// Packs the first `numKeys` keys of one batch and key head.
static HeadData packHead(const AttentionRun &run, int64_t batch, int64_t head,
                         int64_t numKeys) {
  HeadData data;
  data.headDim = run.headDim;
  data.valueHeadDim = run.valueHeadDim;
  data.numKeys = numKeys;
  data.firstKey = run.offsets[3];
  data.keysTransposed.resize(numKeys * run.headDim);
  data.values.resize(numKeys * run.valueHeadDim);
  std::vector<double> row(run.headDim);
  for (int64_t key = 0; key < numKeys; ++key) {
    run.key.read(batch, key, head, row.data());
    for (int64_t dim = 0; dim < run.headDim; ++dim)
      data.keysTransposed[dim * numKeys + key] = row[dim];
    run.value.read(batch, key, head,
                   data.values.data() + key * run.valueHeadDim);
  }
  return data;
}

//===----------------------------------------------------------------------===//
// fa.attention
//===----------------------------------------------------------------------===//

namespace {
struct WholePlan : AttentionPlan {
  DimsAttr outputOrder;
  Use output;
  std::optional<Use> lse;
  SmallVector<unsigned> results;
};
} // namespace

static FailureOr<int64_t> getLength(const WholePlan &plan, Frame &frame,
                                    std::optional<unsigned> lengths,
                                    int64_t batch, int64_t total) {
  if (!lengths)
    return total;
  const Array &array = frame.array(*lengths);
  FailureOr<int64_t> offset = getElementOffset(plan.op, array, {batch});
  if (failed(offset))
    return failure();
  return array.storage->data()[*offset].integer;
}

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
/// lse. A row without weight is 0 with lse -inf.
static double reduceRow(const RowEvaluator &rows, const HeadData &head,
                        std::vector<double> &output) {
  output.assign(head.valueHeadDim, 0.0);
  double maximum = rows.getMaximum();
  if (maximum == -infinity)
    return -infinity;
  double sum = 0;
  for (auto [key, x] : llvm::zip_equal(rows.getVisible(), rows.getScores())) {
    double weight = std::exp(x - maximum);
    sum += weight;
    addWeightedValue(head, key, weight, output.data());
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
  RowChoice chosen;
};
} // namespace

static FailureOr<RowPosition> getHeadPosition(const WholeRun &run,
                                              int64_t batch, int64_t head) {
  RowPosition position;
  position.batch = run.operands.offsets[0] + batch;
  position.head = run.operands.offsets[1] + head;
  auto queryLength = getLength(run.plan, run.frame, run.plan.queryLengths,
                               position.batch, run.operands.extents[0]);
  auto keyLength = getLength(run.plan, run.frame, run.plan.keyLengths,
                             position.batch, run.operands.extents[1]);
  if (failed(queryLength) || failed(keyLength))
    return failure();
  position.queryLength = *queryLength;
  position.keyLength = *keyLength;
  return position;
}

/// Keys of this piece that are below the length of the batch.
static int64_t getNumKeys(const AttentionRun &run,
                          const RowPosition &position) {
  return std::clamp<int64_t>(position.keyLength - run.offsets[3], 0,
                             run.key.getSize(DimKind::Sequence));
}

static LogicalResult runHead(WholeRun &run, const OrderedOperand &output,
                             Array *lse, int64_t batch, int64_t head) {
  const AttentionRun &operands = run.operands;
  std::vector<int64_t> queries = getQueries(
      run.chosen, batch, head, operands.query.getSize(DimKind::Sequence));
  if (queries.empty())
    return success();
  FailureOr<RowPosition> position = getHeadPosition(run, batch, head);
  if (failed(position))
    return failure();
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
    double logSum = reduceRow(run.rows, data, outputRow);
    Slot *target = output.getRow(batch, query, head);
    for (int64_t dim = 0; dim < operands.valueHeadDim; ++dim)
      target[dim * output.getStep()].real = outputRow[dim];
    if (lse)
      lse->data()[batch * lse->strides[0] + head * lse->strides[1] +
                  query * lse->strides[2]]
          .real = logSum;
  }
  return success();
}

/// Visible keys of one row, from the mask alone.
static FailureOr<double> countRow(WholeRun &run, RowPosition position,
                                  const HeadData &head, int64_t query) {
  position.query = run.operands.offsets[2] + query;
  if (failed(run.rows.findVisible(position, head, MaskUse::Apply)))
    return failure();
  return static_cast<double>(run.rows.getVisible().size());
}

/// Pairs of one head that are looked at one by one; above, only some rows are.
static constexpr int64_t maxCountedPairs = int64_t(1) << 28;

/// Visible pairs of one head. Between the rows looked at the counts are taken
/// as linear, which those of causal masks and windows are but for two rows.
static FailureOr<double> countHead(WholeRun &run, int64_t batch, int64_t head,
                                   bool &isEstimate) {
  FailureOr<RowPosition> position = getHeadPosition(run, batch, head);
  if (failed(position))
    return failure();
  HeadData data;
  data.firstKey = run.operands.offsets[3];
  data.numKeys = getNumKeys(run.operands, *position);
  int64_t rows =
      std::clamp<int64_t>(position->queryLength - run.operands.offsets[2], 0,
                          run.operands.query.getSize(DimKind::Sequence));
  if (rows == 0)
    return 0.0;
  int64_t step = 1 + rows * data.numKeys / maxCountedPairs;
  isEstimate |= step > 1;
  FailureOr<double> first = countRow(run, *position, data, 0);
  if (failed(first))
    return failure();
  double pairs = *first;
  for (int64_t row = 0; row < rows - 1;) {
    int64_t next = std::min(row + step, rows - 1);
    FailureOr<double> last = countRow(run, *position, data, next);
    if (failed(last))
      return failure();
    // The rows strictly between lie on the line through both ends.
    pairs += (next - row - 1) * (*first + *last) / 2 + *last;
    first = last;
    row = next;
  }
  return pairs;
}

/// Adds the work of all heads; heads that the mask cannot tell apart are
/// counted once.
static LogicalResult countAttention(WholeRun &run, AttentionWork &work) {
  int64_t batches = run.operands.query.getSize(DimKind::Batch);
  int64_t heads = run.operands.query.getSize(DimKind::Heads);
  bool sameHeads = !run.plan.mask.readsHead();
  bool sameBatches = !run.plan.mask.readsBatch() && !run.plan.queryLengths &&
                     !run.plan.keyLengths;
  double pairs = 0;
  for (int64_t batch = 0; batch < (sameBatches ? 1 : batches); ++batch)
    for (int64_t head = 0; head < (sameHeads ? 1 : heads); ++head) {
      if (batches * heads == 0)
        return success();
      FailureOr<double> counted = countHead(run, batch, head, work.isEstimate);
      if (failed(counted))
        return failure();
      pairs += *counted * (sameBatches ? batches : 1) * (sameHeads ? heads : 1);
    }
  work.pairs += pairs;
  work.operations +=
      pairs * 2 * (run.operands.headDim + run.operands.valueHeadDim);
  return success();
}

static LogicalResult checkDestinations(const WholePlan &plan,
                                       const AttentionRun &run,
                                       const OrderedOperand &output,
                                       const Array *lse) {
  int64_t expected[4] = {run.query.sizes[0], run.query.sizes[1],
                         run.query.sizes[2], run.valueHeadDim};
  for (int64_t i = 0; i < 4; ++i)
    if (failed(checkEqual(plan.op, "size of the output", output.sizes[i],
                          expected[i])))
      return failure();
  int64_t lseShape[3] = {expected[0], expected[2], expected[1]};
  for (int64_t i = 0; lse && i < 3; ++i)
    if (failed(
            checkEqual(plan.op, "size of the lse", lse->shape[i], lseShape[i])))
      return failure();
  if (failed(checkLive(plan.op, *output.array)))
    return failure();
  return lse ? checkLive(plan.op, *lse) : success();
}

static LogicalResult runHeads(WholeRun &run, const OrderedOperand &output,
                              Array *lse) {
  const Execution &execution = *run.frame.execution;
  if (execution.countedWork)
    return countAttention(run, *execution.countedWork);
  const OrderedOperand &query = run.operands.query;
  int64_t batches = query.getSize(DimKind::Batch);
  int64_t heads = query.getSize(DimKind::Heads);
  if (execution.chooseRows)
    run.chosen =
        execution.chooseRows({batches, heads, query.getSize(DimKind::Sequence),
                              run.operands.key.getSize(DimKind::Sequence),
                              run.operands.headDim, run.operands.valueHeadDim});
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t head = 0; head < heads; ++head)
      if (failed(runHead(run, output, lse, batch, head)))
        return failure();
  return success();
}

static LogicalResult runAttention(const WholePlan &plan, Frame &frame) {
  FailureOr<AttentionRun> run = bindCommon(plan, frame);
  if (failed(run))
    return failure();
  bool onTensors = !plan.results.empty();
  auto getDestination = [&](Use use) {
    return onTensors ? takeForUpdate(frame, use) : frame.arrayRef(use.index);
  };
  ArrayRefPtr outputArray = getDestination(plan.output);
  ArrayRefPtr lse = plan.lse ? getDestination(*plan.lse) : nullptr;
  OrderedOperand output(*outputArray, plan.outputOrder);
  if (failed(checkDestinations(plan, *run, output, lse.get())))
    return failure();
  WholeRun whole{plan, frame, *run,
                 RowEvaluator(plan.op, plan.score, plan.mask, frame),
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

static LogicalResult compileAttention(AttentionOp op, ProgramBuilder &builder) {
  WholePlan plan;
  if (failed(compileCommon(op, plan, builder)))
    return failure();
  if (op.getQueryLengths())
    plan.queryLengths = builder.getRegister(op.getQueryLengths());
  if (op.getKeyLengths())
    plan.keyLengths = builder.getRegister(op.getKeyLengths());
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
    for (auto [key, x] : llvm::zip_equal(rows.getVisible(), rows.getScores())) {
      double weight = std::exp(x - maximum);
      sum += weight;
      addWeightedValue(head, key, weight, weighted.data());
    }
  state.maximum->real = maximum;
  state.sum->real = state.sum->real * decay + sum;
  for (int64_t dim = 0; dim < head.valueHeadDim; ++dim) {
    Slot &slot = state.accumulator[dim * state.step];
    slot.real = slot.real * decay + weighted[dim];
  }
}

/// Padding rows have no defined value: poison shows whoever reads them.
static void poisonPadding(ArrayRef<ArrayRefPtr> state, int64_t numQueries) {
  Slot poison = Slot::ofReal(std::numeric_limits<double>::quiet_NaN());
  for (const ArrayRefPtr &array : state) {
    SmallVector<int64_t> shape = llvm::to_vector(array->shape);
    shape[0] -= numQueries;
    ArrayRefPtr padding =
        makeView(*array, array->offset + numQueries * array->strides[0], shape,
                 array->strides);
    fillElements(*padding, poison);
  }
}

static LogicalResult runStep(const StepPlan &plan, Frame &frame) {
  FailureOr<AttentionRun> run = bindCommon(plan, frame);
  if (failed(run))
    return failure();
  bool onTensors = !plan.results.empty();
  SmallVector<ArrayRefPtr, 3> state;
  for (Use use : plan.state)
    state.push_back(onTensors ? takeForUpdate(frame, use)
                              : frame.arrayRef(use.index));
  int64_t numQueries = run->query.getSize(DimKind::Sequence);
  for (const ArrayRefPtr &array : state)
    if (array->shape[0] < numQueries)
      return plan.op->emitError() << "the state has " << array->shape[0]
                                  << " rows for " << numQueries << " queries";
  const Execution &execution = *frame.execution;
  MaskUse use = !execution.inFullRange      ? MaskUse::Apply
                : execution.checkFullRanges ? MaskUse::Check
                                            : MaskUse::Ignore;
  RowPosition position;
  position.batch = run->offsets[0];
  position.head = run->offsets[1];
  position.queryLength = run->extents[0];
  position.keyLength = plan.extents.empty() ? run->offsets[3] + run->extents[1]
                                            : run->extents[1];
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
  if (failed(compileCommon(op, plan, builder)))
    return failure();
  plan.state[0] = builder.getUse(op.getAccumulatorMutable());
  plan.state[1] = builder.getUse(op.getMaximumMutable());
  plan.state[2] = builder.getUse(op.getSumMutable());
  plan.results = builder.getRegisters(op->getResults());
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return runStep(plan, frame); });
  return success();
}

void executor::addFASemantics(Semantics &semantics) {
  semantics.add<AttentionOp>(compileAttention);
  semantics.add<OnlineAttentionOp>(compileStep);
  addApplySemantics(semantics);
  addFAStateSemantics(semantics);
}
