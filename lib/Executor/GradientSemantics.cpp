//===- GradientSemantics.cpp - Steps of gradients in the executor ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tiling makes of a gradient of attention: the numbers of rows, steps of
// keys and of queries, the end of a block, and additions to gradients of
// captures. One section each; `runStep` computes.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradient.h"
#include "FAParts.h"
#include "VectorParts.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// fa.gradient_keys and fa.gradient_queries
//===----------------------------------------------------------------------===//

namespace {
/// A block of gradients that a step carries.
struct Accumulator {
  Use use;
  std::optional<unsigned> result;
};

struct StepPlan : GradientPlan {
  std::optional<Accumulator> query, key, value;
  /// Memory that the gradient of the queries is added to.
  std::optional<unsigned> queryMemory;
  DimsAttr queryMemoryOrder;
  SmallVector<std::pair<unsigned, unsigned>> captures;
  std::optional<unsigned> scaleGradient;
};

/// A packed copy of the rows of an accumulator in use.
class PackedRows {
public:
  PackedRows(Array *array, int64_t numRows)
      : array(array), numRows(array ? numRows : 0),
        headDim(array ? array->shape[1] : 0) {
    forEach([&](Slot &slot) { elements.push_back(slot.real); });
  }
  double *data() { return array ? elements.data() : nullptr; }
  void writeBack() {
    const double *from = elements.data();
    forEach([&](Slot &slot) { slot.real = *from++; });
  }

private:
  template <typename Fn> void forEach(Fn visit) {
    for (int64_t row = 0; row < numRows; ++row)
      for (int64_t dim = 0; dim < headDim; ++dim)
        visit(array->data()[row * array->strides[0] + dim * array->strides[1]]);
  }

  Array *array;
  int64_t numRows, headDim;
  std::vector<double> elements;
};
} // namespace

/// Takes an accumulator, whose rows must hold those of the block.
static FailureOr<ArrayRefPtr>
bindAccumulator(const StepPlan &plan, Frame &frame,
                const std::optional<Accumulator> &accumulator,
                int64_t numRows) {
  if (!accumulator)
    return ArrayRefPtr();
  ArrayRefPtr array =
      getDestination(frame, accumulator->use, accumulator->result.has_value());
  if (array->shape[0] < numRows) {
    plan.op->emitError() << "the state has " << array->shape[0] << " rows for "
                         << numRows << " of the block";
    return failure();
  }
  return array;
}

/// Adds to a row of the gradient of queries of one batch and head.
static void addToMemory(Array &memory, DimsAttr order, int64_t row,
                        ArrayRef<double> sums) {
  OrderedOperand target(memory, order);
  Slot *to = target.getRow(0, row, 0);
  for (auto [dim, sum] : llvm::enumerate(sums))
    to[dim * target.getStep()].real += sum;
}

/// The rows of a step. Rows without weight are not read: past the queries of
/// the batch, or of an lse that is no number to compare with.
static LogicalResult runRows(const StepPlan &plan, Frame &frame,
                             const AttentionRun &run, const HeadData &data,
                             MutableArrayRef<PackedRows> targets,
                             double &scale) {
  GradientRow row(plan, frame);
  for (auto [number, target] : plan.captures)
    row.setCaptureGradient(number, frame.arrayRef(target));
  OrderedOperand outputGradient(frame.array(plan.outputGradient),
                                plan.outputGradientOrder);
  RowPosition position = getStepPosition(plan, run);
  MaskUse use = getMaskUse(*frame.execution);
  std::vector<double> query(run.headDim), gradient(run.valueHeadDim);
  for (int64_t i = 0; i < run.query.getSize(DimKind::Sequence); ++i) {
    position.query = run.offsets[2] + i;
    GradientInputs inputs{query.data(), gradient.data(),
                          getRowNumber(frame.array(plan.lse), 0, 0, i).real,
                          getRowNumber(frame.array(*plan.delta), 0, 0, i).real,
                          run.scale};
    if (position.query >= position.queryLength || std::isinf(inputs.lse))
      continue;
    run.query.read(0, i, 0, query.data());
    outputGradient.read(0, i, 0, gradient.data());
    if (failed(row.run(position, data, use, inputs)))
      return failure();
    GradientTargets sums;
    std::vector<double> ofQuery(plan.queryMemory ? run.headDim : 0, 0.0);
    if (double *block = targets[0].data())
      sums.query = block + i * run.headDim;
    else if (plan.queryMemory)
      sums.query = ofQuery.data();
    sums.keys = targets[1].data();
    sums.values = targets[2].data();
    sums.scale = &scale;
    addRow(row, data, inputs, sums);
    if (plan.queryMemory)
      addToMemory(frame.array(*plan.queryMemory), plan.queryMemoryOrder, i,
                  ofQuery);
  }
  return success();
}

static LogicalResult runStep(const StepPlan &plan, Frame &frame) {
  FailureOr<AttentionRun> run = bindOperands(plan, frame);
  if (failed(run))
    return failure();
  int64_t queries = run->query.getSize(DimKind::Sequence);
  int64_t keys = run->key.getSize(DimKind::Sequence);
  OrderedOperand outputGradient(frame.array(plan.outputGradient),
                                plan.outputGradientOrder);
  if (failed(checkLikeQuery(plan, *run, "gradient of the output",
                            outputGradient, run->valueHeadDim)) ||
      failed(checkRowNumbers(plan, *run, "lse", frame.array(plan.lse))) ||
      failed(checkRowNumbers(plan, *run, "delta", frame.array(*plan.delta))))
    return failure();
  const std::optional<Accumulator> *blocks[] = {&plan.query, &plan.key,
                                                &plan.value};
  int64_t rows[] = {queries, keys, keys};
  SmallVector<ArrayRefPtr, 3> arrays;
  for (auto [block, numRows] : llvm::zip_equal(blocks, rows)) {
    FailureOr<ArrayRefPtr> array =
        bindAccumulator(plan, frame, *block, numRows);
    if (failed(array))
      return failure();
    arrays.push_back(*array);
  }
  if (!frame.execution->onKeyBlock && !frame.execution->countedWork) {
    HeadData data = packHead(*run, 0, 0, keys);
    SmallVector<PackedRows, 3> packed;
    for (auto [array, numRows] : llvm::zip_equal(arrays, rows))
      packed.push_back(PackedRows(array.get(), numRows));
    double scale = 0;
    if (failed(runRows(plan, frame, *run, data, packed, scale)))
      return failure();
    for (auto [block, array, numRows] : llvm::zip_equal(packed, arrays, rows)) {
      block.writeBack();
      if (array)
        poisonPadding(array, numRows);
    }
    if (plan.scaleGradient)
      frame.array(*plan.scaleGradient).data()->real += scale;
  }
  for (auto [block, array] : llvm::zip_equal(blocks, arrays))
    if (*block && (*block)->result)
      frame[*(*block)->result] = array;
  return success();
}

/// The accumulators in the order of the operation's results.
static void compileAccumulators(
    Operation *op, ProgramBuilder &builder,
    ArrayRef<std::pair<MutableOperandRange, std::optional<Accumulator> *>>
        accumulators) {
  unsigned position = 0;
  for (const auto &[range, accumulator] : accumulators)
    for (OpOperand &operand : MutableArrayRef<OpOperand>(range))
      *accumulator =
          Accumulator{builder.getUse(operand),
                      builder.getRegister(op->getResult(position++))};
}

/// Memory of gradients that a step adds to.
template <typename OpTy>
static void compileAdditions(OpTy op, ProgramBuilder &builder, StepPlan &plan) {
  for (auto [number, target] :
       llvm::zip_equal(op.getDifferentiated(), op.getCaptureGradients()))
    plan.captures.push_back({number, builder.getRegister(target)});
  if (Value scale = op.getScaleGradient())
    plan.scaleGradient = builder.getRegister(scale);
}

static LogicalResult compileKeysStep(GradientKeysOp op,
                                     ProgramBuilder &builder) {
  StepPlan plan;
  if (failed(compileGradientOperands(op, plan, builder)))
    return failure();
  plan.delta = builder.getRegister(op.getDelta());
  compileAccumulators(op, builder,
                      {{op.getKeyAccumulatorMutable(), &plan.key},
                       {op.getValueAccumulatorMutable(), &plan.value}});
  if (Value memory = op.getQueryGradient()) {
    plan.queryMemory = builder.getRegister(memory);
    plan.queryMemoryOrder = op.getQueryGradientOrder();
  }
  compileAdditions(op, builder, plan);
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return runStep(plan, frame); });
  return success();
}

static LogicalResult compileQueriesStep(GradientQueriesOp op,
                                        ProgramBuilder &builder) {
  StepPlan plan;
  if (failed(compileGradientOperands(op, plan, builder)))
    return failure();
  plan.delta = builder.getRegister(op.getDelta());
  compileAccumulators(op, builder,
                      {{op.getQueryAccumulatorMutable(), &plan.query}});
  compileAdditions(op, builder, plan);
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return runStep(plan, frame); });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.prepare_gradient and fa.finalize_gradient
//===----------------------------------------------------------------------===//

static void clear(Array &array) {
  forEachIndex(array.shape, [&](ArrayRef<int64_t> index) {
    int64_t place = 0;
    for (auto [number, stride] : llvm::zip_equal(index, array.strides))
      place += number * stride;
    array.data()[place].real = 0;
  });
}

static LogicalResult compilePrepare(PrepareGradientOp op,
                                    ProgramBuilder &builder) {
  auto getOptional = [&](Value value) -> std::optional<unsigned> {
    return value ? std::optional(builder.getRegister(value)) : std::nullopt;
  };
  std::optional<unsigned> output = getOptional(op.getOutput());
  std::optional<unsigned> outputGradient = getOptional(op.getOutputGradient());
  std::optional<unsigned> given = getOptional(op.getGivenDelta());
  std::optional<unsigned> lseGradient = getOptional(op.getLseGradient());
  std::optional<unsigned> sums = getOptional(op.getQuerySums());
  unsigned lse = builder.getRegister(op.getLse());
  unsigned delta = builder.getRegister(op.getDelta());
  unsigned reference = builder.getRegister(op.getReference());
  unsigned rows = builder.getRegister(op.getRows());
  DimsAttr outputOrder = op.getOutputOrder();
  DimsAttr gradientOrder = op.getOutputGradientOrder();
  builder.emit([=](Frame &frame) -> LogicalResult {
    if (sums)
      clear(frame.array(*sums));
    Array &deltas = frame.array(delta), &references = frame.array(reference);
    for (auto [name, index] :
         {std::pair<StringRef, std::optional<unsigned>>("delta", given),
          {"lse", lse},
          {"gradient of lse", lseGradient},
          {"destination lse", reference}})
      if (index &&
          failed(checkEqual(op, ("number of rows of " + name).str(),
                            frame.array(*index).shape[2], deltas.shape[2])))
        return failure();
    auto getDelta = [&](int64_t row) {
      if (given)
        return getRowNumber(frame.array(*given), 0, 0, row).real;
      OrderedOperand o(frame.array(*output), outputOrder);
      OrderedOperand d(frame.array(*outputGradient), gradientOrder);
      double sum = 0;
      for (int64_t dim = 0; dim < o.getSize(DimKind::HeadDim); ++dim)
        sum += o.getRow(0, row, 0)[dim * o.getStep()].real *
               d.getRow(0, row, 0)[dim * d.getStep()].real;
      return lseGradient
                 ? sum - getRowNumber(frame.array(*lseGradient), 0, 0, row).real
                 : sum;
    };
    for (int64_t row = 0; row < deltas.shape[2]; ++row) {
      double log = row < frame.integer(rows)
                       ? getRowNumber(frame.array(lse), 0, 0, row).real
                       : -infinity;
      bool isEmpty = log == -infinity;
      getRowNumber(deltas, 0, 0, row).real = isEmpty ? 0 : getDelta(row);
      getRowNumber(references, 0, 0, row).real =
          std::abs(log) > largestKnownLse ? infinity : log;
    }
    return success();
  });
  return success();
}

static LogicalResult compileFinalize(FinalizeGradientOp op,
                                     ProgramBuilder &builder) {
  unsigned accumulator = builder.getRegister(op.getAccumulator());
  unsigned output = builder.getRegister(op.getOutput());
  unsigned rows = builder.getRegister(op.getRows());
  std::optional<unsigned> scale;
  if (op.getScale())
    scale = builder.getRegister(op.getScale());
  DimsAttr order = op.getOrder();
  builder.emit([=](Frame &frame) -> LogicalResult {
    const Array &from = frame.array(accumulator);
    OrderedOperand tile(frame.array(output), order);
    int64_t numRows = frame.integer(rows);
    if (numRows > from.shape[0] || numRows > tile.getSize(DimKind::Sequence))
      return op->emitError("finalizes ")
             << numRows << " rows of a state of " << from.shape[0]
             << " into a tile of " << tile.getSize(DimKind::Sequence);
    double factor = scale ? frame.slot(*scale).real : 1;
    for (int64_t row = 0; row < tile.getSize(DimKind::Sequence); ++row) {
      Slot *to = tile.getRow(0, row, 0);
      for (int64_t dim = 0; dim < tile.getSize(DimKind::HeadDim); ++dim)
        to[dim * tile.getStep()].real =
            row < numRows
                ? factor *
                      from.data()[row * from.strides[0] + dim * from.strides[1]]
                          .real
                : 0;
    }
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.scatter_add and fa.scatter_gradient
//===----------------------------------------------------------------------===//

/// Adds to one element; an index out of bounds adds nothing.
static void addElement(Array &target, ArrayRef<int64_t> indices, double value) {
  int64_t offset = 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index < 0 || index >= target.shape[dim])
      return;
    offset += index * target.strides[dim];
  }
  target.data()[offset].real += value;
}

static LogicalResult compileScatterGradient(ScatterGradientOp op,
                                            LaneBuilder &builder) {
  unsigned target = builder.useContextObject(op.getCaptureNumber());
  unsigned value = builder.getLanes(op.getValue());
  SmallVector<unsigned> indices = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return builder.getLanes(index); });
  builder.emit([=](LaneState &state, int64_t count) {
    if (!state.objects[target].object)
      return success();
    SmallVector<int64_t> element(indices.size());
    for (int64_t lane = 0; lane < count; ++lane) {
      for (auto [dim, index] : llvm::enumerate(indices))
        element[dim] = state.lanes(index)[lane].integer;
      addElement(state.objects[target].array(), element,
                 state.lanes(value)[lane].real);
    }
    return success();
  });
  return success();
}

static LogicalResult compileScatterAdd(ScatterAddOp op,
                                       ProgramBuilder &builder) {
  auto compiled = CompiledRegion::compile(op.getPairRegions().front(), builder);
  if (failed(compiled))
    return failure();
  unsigned input = builder.getRegister(op.getInput());
  unsigned destination = builder.getRegister(op.getDestination());
  bool hasScores = static_cast<bool>(op.getScores());
  unsigned scores = hasScores ? builder.getRegister(op.getScores()) : 0;
  SmallVector<unsigned> offsets = builder.getRegisters(op.getOffsets());
  SmallVector<unsigned> extents = builder.getRegisters(op.getExtents());
  int64_t queryDim = op.getRowsAreKeys() ? 1 : 0;
  auto find = [=](const Array &pairs, int64_t query, int64_t key) {
    return pairs.data()[query * pairs.strides[queryDim] +
                        key * pairs.strides[1 - queryDim]];
  };
  builder.emit([=,
                region = std::move(*compiled)](Frame &frame) -> LogicalResult {
    const Array &values = frame.array(input);
    Array &target = frame.array(destination);
    if (failed(checkLive(op, target)))
      return failure();
    RowPosition position;
    position.batch = frame.integer(offsets[0]);
    position.head = frame.integer(offsets[1]);
    position.queryLength = frame.integer(extents[0]);
    position.keyLength = frame.integer(extents[1]);
    int64_t firstKey = frame.integer(offsets[3]);
    int64_t keys = values.shape[1 - queryDim];
    LaneState state = region.bind(frame);
    SmallVector<int64_t> element(target.getRank());
    for (int64_t query = 0; query < values.shape[queryDim]; ++query) {
      position.query = frame.integer(offsets[2]) + query;
      region.setRow(state, position);
      for (int64_t first = 0; first < keys; first += CompiledRegion::capacity) {
        int64_t count = std::min(CompiledRegion::capacity, keys - first);
        for (int64_t i = 0; i < count; ++i) {
          region.getKeys(state)[i].integer = firstKey + first + i;
          if (hasScores)
            region.getElements(state)[i] =
                find(frame.array(scores), query, first + i);
        }
        if (failed(region.run(state, count)))
          return failure();
        for (int64_t i = 0; i < count; ++i) {
          for (auto [dim, index] : llvm::enumerate(element))
            index = region.getResult(state, dim)[i].integer;
          addElement(target, element, find(values, query, first + i).real);
        }
      }
    }
    return success();
  });
  return success();
}

void executor::addGradientSemantics(Semantics &semantics) {
  semantics.add<GradientKeysOp>(compileKeysStep);
  semantics.add<GradientQueriesOp>(compileQueriesStep);
  semantics.add<PrepareGradientOp>(compilePrepare);
  semantics.add<FinalizeGradientOp>(compileFinalize);
  semantics.add<ScatterAddOp>(compileScatterAdd);
  semantics.addLanes<ScatterGradientOp>(compileScatterGradient);
}
