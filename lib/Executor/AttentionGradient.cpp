//===- AttentionGradient.cpp - Exact gradients of attention ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.attention_gradient by its formulas, in doubles. `GradientRow::run` is one
// row: weights, then gradients of the scaled products. `addRow` multiplies them
// out. `runHeads` loops over the whole problem.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradient.h"
#include "FAParts.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult GradientRow::run(const RowPosition &position,
                               const HeadData &head, MaskUse use,
                               const GradientInputs &inputs) {
  if (failed(rows.findVisible(position, head, use)) ||
      failed(rows.computeScores(position, head, inputs.query, inputs.scale)))
    return failure();
  weights.clear();
  gradients.clear();
  for (auto [key, x, factor] : llvm::zip_equal(
           rows.getVisible(), rows.getScores(), rows.getFactors())) {
    const double *value = head.values.data() + key * head.valueHeadDim;
    double product = 0;
    for (int64_t dim = 0; dim < head.valueHeadDim; ++dim)
      product += inputs.outputGradient[dim] * value[dim];
    double weight = std::exp(x - inputs.lse);
    weights.push_back(weight * factor);
    gradients.push_back(weight * (factor * product - inputs.delta));
  }
  return scoreGradient.isEmpty()
             ? success()
             : applyScoreGradient(position, head, inputs.scale);
}

LogicalResult GradientRow::applyScoreGradient(const RowPosition &position,
                                              const HeadData &head,
                                              double scale) {
  scoreGradient.setRow(gradientState, position);
  int64_t total = gradients.size();
  for (int64_t first = 0; first < total; first += CompiledRegion::capacity) {
    int64_t count = std::min(CompiledRegion::capacity, total - first);
    Slot *inputs = scoreGradient.getElements(gradientState, 0);
    Slot *scores = scoreGradient.getElements(gradientState, 1);
    Slot *keys = scoreGradient.getKeys(gradientState);
    for (int64_t i = 0; i < count; ++i) {
      inputs[i].real = gradients[first + i];
      scores[i].real = scale * rows.getProducts()[first + i];
      keys[i].integer = head.firstKey + rows.getVisible()[first + i];
    }
    if (failed(scoreGradient.run(gradientState, count)))
      return failure();
    const Slot *results = scoreGradient.getResult(gradientState);
    for (int64_t i = 0; i < count; ++i)
      gradients[first + i] = results[i].real;
  }
  return success();
}

void executor::addRow(const GradientRow &row, const HeadData &head,
                      const GradientInputs &inputs,
                      const GradientTargets &targets) {
  for (auto [key, weight, gradient, product] :
       llvm::zip_equal(row.getVisible(), row.getWeights(), row.getGradients(),
                       row.getProducts())) {
    for (int64_t dim = 0; targets.query && dim < head.headDim; ++dim)
      targets.query[dim] +=
          gradient * head.keysTransposed[dim * head.numKeys + key];
    for (int64_t dim = 0; targets.keys && dim < head.headDim; ++dim)
      targets.keys[key * head.headDim + dim] += gradient * inputs.query[dim];
    for (int64_t dim = 0; targets.values && dim < head.valueHeadDim; ++dim)
      targets.values[key * head.valueHeadDim + dim] +=
          weight * inputs.outputGradient[dim];
    if (targets.scale)
      *targets.scale += gradient * product;
  }
}

LogicalResult executor::compileGradientOperands(GradientLikeOpInterface op,
                                                GradientPlan &plan,
                                                ProgramBuilder &builder) {
  auto attention = cast<AttentionLikeOpInterface>(op.getOperation());
  if (failed(compileOperands(attention, plan, builder)))
    return failure();
  plan.outputGradient = builder.getRegister(op.getOutputGradient());
  plan.outputGradientOrder = op.getOutputGradientOrder();
  plan.lse = builder.getRegister(op.getLse());
  Region *region = &op.getScoreGradient();
  auto whole = dyn_cast<AttentionGradientOp>(op.getOperation());
  bool needsSink = whole && whole.getSinkGradient().empty() &&
                   !whole.getDifferentiatedSink().empty();
  if (needsSink ||
      (whole && region->empty() && !attention.getScore().empty())) {
    plan.derived = std::shared_ptr<Operation>(
        whole->clone(), [](Operation *copy) { copy->destroy(); });
    auto copy = cast<AttentionGradientOp>(plan.derived.get());
    IRRewriter rewriter(op->getContext());
    if (failed(differentiateScore(rewriter, copy)))
      return failure();
    region = &copy.getScoreGradient();
  }
  auto compiled = CompiledRegion::compile(
      {region, /*numElements=*/2, attention.getScoreCaptures()}, builder);
  if (failed(compiled))
    return failure();
  plan.scoreGradient = std::move(*compiled);
  return success();
}

//===----------------------------------------------------------------------===//
// fa.attention_gradient
//===----------------------------------------------------------------------===//

namespace {
/// A destination like an operand.
struct Destination {
  Use use;
  DimsAttr order;
  unsigned result = 0;
};

struct WholeGradientPlan : GradientPlan {
  std::optional<unsigned> output, lseGradient;
  DimsAttr outputOrder;
  std::optional<Destination> query, key, value, scale;
  SmallVector<unsigned> captureRegisters, sinkRegisters;
  SmallVector<std::pair<unsigned, Destination>> captures, sinkCaptures;
  CompiledRegion sink, sinkGradient;
  bool onTensors = false;
};

/// Where one run writes.
struct Gradients {
  std::optional<OrderedOperand> query, key, value;
  ArrayRefPtr scale;
  /// Keeps the arrays of tensors.
  SmallVector<std::pair<unsigned, ArrayRefPtr>> results;
};

/// One run of a whole gradient.
struct WholeGradientRun {
  const WholeGradientPlan &plan;
  Frame &frame;
  AttentionRun operands;
  OrderedOperand outputGradient;
  GradientRow row;
  Gradients gradients;
  LaneState sink, sinkGradient;
};
} // namespace

/// Delta of a row: given, or made from the output.
static double getDelta(const WholeGradientRun &run, int64_t batch, int64_t head,
                       int64_t query, ArrayRef<double> outputGradient) {
  const WholeGradientPlan &plan = run.plan;
  if (plan.delta)
    return getRowNumber(run.operands, run.frame.array(*plan.delta), batch, head,
                        query)
        .real;
  OrderedOperand output(run.frame.array(*plan.output), plan.outputOrder);
  output.starts = run.operands.query.starts;
  const Slot *row = output.getRow(batch, query, head);
  double delta = 0;
  for (auto [dim, gradient] : llvm::enumerate(outputGradient))
    delta += gradient * row[dim * output.getStep()].real;
  if (plan.lseGradient)
    delta -= getRowNumber(run.operands, run.frame.array(*plan.lseGradient),
                          batch, head, query)
                 .real;
  return delta;
}

static void writeRow(const OrderedOperand &target, int64_t batch,
                     int64_t sequence, int64_t head, double factor,
                     const double *from) {
  Slot *to = target.getRow(batch, sequence, head);
  for (int64_t dim = 0; dim < target.getSize(DimKind::HeadDim); ++dim)
    to[dim * target.getStep()].real = factor * from[dim];
}

/// A sink is one more key, of value zero.
static LogicalResult addSink(WholeGradientRun &run, const RowPosition &position,
                             const GradientInputs &inputs) {
  const WholeGradientPlan &plan = run.plan;
  if (plan.sinkGradient.isEmpty())
    return success();
  plan.sink.setRow(run.sink, position);
  plan.sinkGradient.setRow(run.sinkGradient, position);
  if (failed(plan.sink.run(run.sink, 1)))
    return failure();
  double weight = std::exp(plan.sink.getResult(run.sink)->real - inputs.lse);
  plan.sinkGradient.getElements(run.sinkGradient)->real =
      -weight * inputs.delta;
  return plan.sinkGradient.run(run.sinkGradient, 1);
}

/// Rows of one query head: writes gradients of queries, adds the others.
static LogicalResult runQueryHead(WholeGradientRun &run, int64_t batch,
                                  int64_t head, GradientTargets targets) {
  const AttentionRun &operands = run.operands;
  FailureOr<RowPosition> position =
      getHeadPosition(run.plan, run.frame, operands, batch, head);
  if (failed(position))
    return failure();
  int64_t group = operands.query.getSize(DimKind::Heads) /
                  operands.key.getSize(DimKind::Heads);
  HeadData data =
      packHead(operands, batch, head / group, getNumKeys(operands, *position));
  std::vector<double> query(operands.headDim), gradient;
  std::vector<double> outputGradient(operands.valueHeadDim);
  Array &lse = run.frame.array(run.plan.lse);
  int64_t queries = operands.isRagged
                        ? position->queryLength
                        : operands.query.getSize(DimKind::Sequence);
  for (int64_t i = 0; i < queries; ++i) {
    position->query = operands.offsets[2] + i;
    gradient.assign(
        operands.headDim,
        position->isBroken ? std::numeric_limits<double>::quiet_NaN() : 0.0);
    GradientInputs inputs{query.data(), outputGradient.data(), 0, 0,
                          operands.scale};
    bool isValid =
        position->query < position->queryLength && !position->isBroken;
    if (isValid)
      inputs.lse = getRowNumber(operands, lse, batch, head, i).real;
    // A row that sees no key has weights of 0, and so has one of which an lse
    // has no digits for them.
    if (isValid && !(std::abs(inputs.lse) > largestKnownLse)) {
      operands.query.read(batch, i, head, query.data());
      run.outputGradient.read(batch, i, head, outputGradient.data());
      inputs.delta = getDelta(run, batch, head, i, outputGradient);
      if (failed(addSink(run, *position, inputs)) ||
          failed(run.row.run(*position, data, MaskUse::Apply, inputs)))
        return failure();
      targets.query = gradient.data();
      addRow(run.row, data, inputs, targets);
    }
    if (run.gradients.query)
      writeRow(*run.gradients.query, batch, i, head, operands.scale,
               gradient.data());
  }
  return success();
}

static LogicalResult runHeads(WholeGradientRun &run) {
  const AttentionRun &operands = run.operands;
  int64_t keyHeads = operands.key.getSize(DimKind::Heads);
  int64_t heads = operands.query.getSize(DimKind::Heads);
  double scale = 0;
  for (int64_t batch = 0; batch < operands.batches; ++batch)
    for (int64_t keyHead = 0; keyHead < keyHeads; ++keyHead) {
      FailureOr<RowPosition> position =
          getHeadPosition(run.plan, run.frame, operands, batch, /*head=*/0);
      if (failed(position))
        return failure();
      int64_t keys = operands.isRagged
                         ? position->keyLength
                         : operands.key.getSize(DimKind::Sequence);
      std::vector<double> ofKeys(keys * operands.headDim, 0.0);
      std::vector<double> ofValues(keys * operands.valueHeadDim, 0.0);
      GradientTargets targets;
      targets.keys = run.gradients.key ? ofKeys.data() : nullptr;
      targets.values = run.gradients.value ? ofValues.data() : nullptr;
      targets.scale = &scale;
      int64_t group = heads / keyHeads;
      for (int64_t head = 0; head < group; ++head)
        if (failed(runQueryHead(run, batch, keyHead * group + head, targets)))
          return failure();
      for (int64_t key = 0; key < keys; ++key) {
        if (run.gradients.key)
          writeRow(*run.gradients.key, batch, key, keyHead, operands.scale,
                   ofKeys.data() + key * operands.headDim);
        if (run.gradients.value)
          writeRow(*run.gradients.value, batch, key, keyHead, /*factor=*/1,
                   ofValues.data() + key * operands.valueHeadDim);
      }
    }
  if (run.gradients.scale)
    run.gradients.scale->data()->real = scale;
  return success();
}

/// Binds a destination that has the shape of `model`.
static LogicalResult bindLike(const WholeGradientPlan &plan, Frame &frame,
                              const AttentionRun &run,
                              const std::optional<Destination> &destination,
                              StringRef name, const OrderedOperand &model,
                              std::optional<OrderedOperand> &bound,
                              Gradients &gradients) {
  if (!destination)
    return success();
  ArrayRefPtr array = getDestination(frame, destination->use, plan.onTensors);
  bound.emplace(*array, destination->order);
  bound->starts = model.starts;
  // Rows of no sequence have the gradient 0.
  if (run.isRagged)
    fillElements(*array, Slot::ofReal(0));
  gradients.results.push_back({destination->result, array});
  for (int64_t i = 0; i < 4; ++i)
    if (failed(checkEqual(plan.op,
                          ("size of the gradient of the " + name).str(),
                          bound->sizes[i], model.sizes[i])))
      return failure();
  return checkLive(plan.op, *array);
}

/// Binds destinations that have the shapes of captures.
static LogicalResult
bindCaptures(const WholeGradientPlan &plan, Frame &frame, OperandRange captures,
             ArrayRef<unsigned> registers,
             ArrayRef<std::pair<unsigned, Destination>> destinations,
             StringRef name, Gradients &gradients,
             function_ref<void(unsigned, const ArrayRefPtr &)> set) {
  for (const auto &[number, destination] : destinations) {
    ArrayRefPtr array = getDestination(frame, destination.use, plan.onTensors);
    gradients.results.push_back({destination.result, array});
    if (failed(checkLive(plan.op, *array)))
      return failure();
    // The gradient has a size for each size of the capture.
    auto type = dyn_cast<ShapedType>(captures[number].getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      if (failed(checkEqual(
              plan.op,
              ("size of the gradient of " + name + " " + Twine(number)).str(),
              array->shape[dim], frame.array(registers[number]).shape[dim])))
        return failure();
    fillElements(*array, Slot::ofReal(0));
    set(number, array);
  }
  return success();
}

static LogicalResult bindGradients(WholeGradientRun &run) {
  const WholeGradientPlan &plan = run.plan;
  Frame &frame = run.frame;
  Gradients &gradients = run.gradients;
  const AttentionRun &operands = run.operands;
  auto op = cast<AttentionGradientOp>(plan.op);
  if (failed(bindLike(plan, frame, operands, plan.query, "query",
                      operands.query, gradients.query, gradients)) ||
      failed(bindLike(plan, frame, operands, plan.key, "key", operands.key,
                      gradients.key, gradients)) ||
      failed(bindLike(plan, frame, operands, plan.value, "value",
                      operands.value, gradients.value, gradients)) ||
      failed(bindCaptures(plan, frame, op.getScoreCaptures(),
                          plan.captureRegisters, plan.captures, "capture",
                          gradients,
                          [&](unsigned number, const ArrayRefPtr &array) {
                            run.row.setCaptureGradient(number, array);
                          })) ||
      failed(bindCaptures(plan, frame, op.getSinkCaptures(), plan.sinkRegisters,
                          plan.sinkCaptures, "sink capture", gradients,
                          [&](unsigned number, const ArrayRefPtr &array) {
                            plan.sinkGradient.setGradient(run.sinkGradient,
                                                          number, array);
                          })))
    return failure();
  if (!plan.scale)
    return success();
  gradients.scale = getDestination(frame, plan.scale->use, plan.onTensors);
  gradients.results.push_back({plan.scale->result, gradients.scale});
  return checkLive(plan.op, *gradients.scale);
}

/// Operands that are shaped like the output, and numbers of rows.
static LogicalResult checkInputs(const WholeGradientPlan &plan, Frame &frame,
                                 const AttentionRun &run) {
  std::tuple<StringRef, std::optional<unsigned>, DimsAttr> tiles[] = {
      {"output", plan.output, plan.outputOrder},
      {"gradient of the output", plan.outputGradient,
       plan.outputGradientOrder}};
  for (auto [name, index, order] : tiles)
    if (index &&
        failed(checkLikeQuery(plan, run, name,
                              OrderedOperand(frame.array(*index), order),
                              run.valueHeadDim)))
      return failure();
  std::pair<StringRef, std::optional<unsigned>> rows[] = {
      {"lse", plan.lse},
      {"delta", plan.delta},
      {"gradient of lse", plan.lseGradient}};
  for (auto [name, index] : rows)
    if (index && failed(checkRowNumbers(plan, run, name, frame.array(*index))))
      return failure();
  return success();
}

/// Backward is counted as 2.5 times forward: five products for two.
static constexpr double workFactor = 2.5;

/// A run that wants no row of attention, only shapes, wants no gradient.
static bool isWanted(const Execution &execution, const AttentionRun &run) {
  if (!execution.chooseRows)
    return true;
  auto rows = execution.chooseRows(
      {run.batches, run.query.getSize(DimKind::Heads),
       run.query.getSize(DimKind::Sequence), run.key.getSize(DimKind::Sequence),
       run.headDim, run.valueHeadDim});
  return !rows || !rows->empty();
}

static LogicalResult runGradient(const WholeGradientPlan &plan, Frame &frame) {
  FailureOr<AttentionRun> operands = bindOperands(plan, frame);
  if (failed(operands) || failed(checkInputs(plan, frame, *operands)))
    return failure();
  WholeGradientRun run{plan,
                       frame,
                       *operands,
                       OrderedOperand(frame.array(plan.outputGradient),
                                      plan.outputGradientOrder),
                       GradientRow(plan, frame),
                       Gradients(),
                       plan.sink.bind(frame),
                       plan.sinkGradient.bind(frame)};
  run.outputGradient.starts = operands->query.starts;
  if (failed(bindGradients(run)))
    return failure();
  if (AttentionWork *work = frame.execution->countedWork) {
    if (failed(countWork(plan, frame, *operands, workFactor, *work)))
      return failure();
  } else if (isWanted(*frame.execution, *operands) && failed(runHeads(run))) {
    return failure();
  }
  if (plan.onTensors)
    for (auto &[index, array] : run.gradients.results)
      frame[index] = array;
  return success();
}

/// The sink and its gradient, where one is asked for.
static LogicalResult compileSink(AttentionGradientOp op,
                                 WholeGradientPlan &plan,
                                 ProgramBuilder &builder) {
  if (op.getDifferentiatedSink().empty())
    return success();
  auto derived = cast_if_present<AttentionGradientOp>(plan.derived.get());
  Region &gradient = op.getSinkGradient().empty() && derived
                         ? derived.getSinkGradient()
                         : op.getSinkGradient();
  auto sink = CompiledRegion::compile(
      {&op.getSink(), /*numElements=*/0, op.getSinkCaptures(), 3}, builder);
  auto compiled = CompiledRegion::compile(
      {&gradient, /*numElements=*/1, op.getSinkCaptures(), 3}, builder);
  if (failed(sink) || failed(compiled))
    return failure();
  plan.sink = std::move(*sink);
  plan.sinkGradient = std::move(*compiled);
  plan.sinkRegisters = builder.getRegisters(op.getSinkCaptures());
  return success();
}

static LogicalResult compileGradient(AttentionGradientOp op,
                                     ProgramBuilder &builder) {
  WholeGradientPlan plan;
  if (failed(compileGradientOperands(op, plan, builder)) ||
      failed(compileSink(op, plan, builder)))
    return failure();
  auto getOptional = [&](Value value) -> std::optional<unsigned> {
    return value ? std::optional(builder.getRegister(value)) : std::nullopt;
  };
  plan.queryLengths = getOptional(op.getQueryLengths());
  plan.keyLengths = getOptional(op.getKeyLengths());
  plan.queryStarts = getOptional(op.getQueryStarts());
  plan.keyStarts = getOptional(op.getKeyStarts());
  plan.output = getOptional(op.getOutput());
  plan.delta = getOptional(op.getDelta());
  plan.lseGradient = getOptional(op.getLseGradient());
  plan.outputOrder = op.getOutputOrder();
  plan.onTensors = op->getNumResults() > 0;
  plan.captureRegisters = builder.getRegisters(op.getScoreCaptures());
  unsigned position = 0;
  auto getNext = [&](OpOperand &operand, DimsAttr order) {
    unsigned result =
        plan.onTensors ? builder.getRegister(op->getResult(position++)) : 0;
    return Destination{builder.getUse(operand), order, result};
  };
  for (OpOperand &operand : op.getQueryGradientMutable())
    plan.query = getNext(operand, op.getQueryGradientOrder());
  for (OpOperand &operand : op.getKeyGradientMutable())
    plan.key = getNext(operand, op.getKeyGradientOrder());
  for (OpOperand &operand : op.getValueGradientMutable())
    plan.value = getNext(operand, op.getValueGradientOrder());
  for (auto [number, operand] : llvm::zip_equal(
           op.getDifferentiated(),
           MutableArrayRef<OpOperand>(op.getCaptureGradientsMutable())))
    plan.captures.push_back({number, getNext(operand, DimsAttr())});
  for (OpOperand &operand : op.getScaleGradientMutable())
    plan.scale = getNext(operand, DimsAttr());
  for (auto [number, operand] : llvm::zip_equal(
           op.getDifferentiatedSink(),
           MutableArrayRef<OpOperand>(op.getSinkCaptureGradientsMutable())))
    plan.sinkCaptures.push_back({number, getNext(operand, DimsAttr())});
  builder.emit([plan = std::move(plan)](Frame &frame) {
    return runGradient(plan, frame);
  });
  return success();
}

void executor::addWholeGradientSemantics(Semantics &semantics) {
  semantics.add<AttentionGradientOp>(compileGradient);
}
