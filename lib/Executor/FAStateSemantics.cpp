//===- FAStateSemantics.cpp - Partial results in the executor -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations around a step of online softmax: the loop over key ranges,
// the final division, the merge of partial results by their lse. One section
// each; `runCombine` is the only one with arithmetic of note.
//
//===----------------------------------------------------------------------===//

#include "AttentionOperands.h"
#include "FAParts.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// fa.key_ranges and fa.query_ranges
//===----------------------------------------------------------------------===//

template <typename RangesOp>
static LogicalResult compileRanges(RangesOp op, ProgramBuilder &builder) {
  SmallVector<unsigned> begins = builder.getRegisters(op.getBegins());
  SmallVector<unsigned> ends = builder.getRegisters(op.getEnds());
  SmallVector<bool> full(op.getFull());
  int64_t step = op.getStep();
  SmallVector<Use> inits = builder.getUses(op.getInitsMutable());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  auto body = std::make_unique<BlockProgram>();
  if (failed(builder.compileRegion(op.getBodyRegion(), *body)))
    return failure();
  builder.emit([=, body = std::move(body)](Frame &frame) -> LogicalResult {
    ArrayRef<unsigned> arguments(body->arguments);
    ArrayRef<unsigned> carried = arguments.drop_front(2);
    transfer(frame, inits, carried);
    bool isFirst = true;
    for (auto [begin, end, isFull] : llvm::zip_equal(begins, ends, full)) {
      int64_t last = frame.integer(end);
      if (isFull && last > frame.integer(begin) &&
          (last - frame.integer(begin)) % step != 0)
        return op->emitError("the full range from ")
               << frame.integer(begin) << " to " << last
               << " is no multiple of the step " << step;
      for (int64_t first = frame.integer(begin); first < last; first += step) {
        frame.slot(arguments[0]).integer = first;
        frame.slot(arguments[1]).integer = std::min(step, last - first);
        bool outer = std::exchange(frame.execution->inFullRange, isFull);
        bool outerFirst = std::exchange(frame.execution->inFirstBlock, isFirst);
        LogicalResult result = body->run(frame);
        frame.execution->inFullRange = outer;
        frame.execution->inFirstBlock = outerFirst;
        isFirst = false;
        if (failed(result))
          return failure();
        transfer(frame, body->results, carried);
      }
    }
    SmallVector<Use> final = llvm::map_to_vector(
        carried, [](unsigned index) { return Use{index, /*last=*/true}; });
    transfer(frame, final, results);
    return success();
  });
  return success();
}

static LogicalResult compileIsPartial(IsPartialOp op, ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getPartial());
  builder.emit([=](Frame &frame) {
    frame.slot(result).integer = !frame.execution->inFullRange;
    return success();
  });
  return success();
}

static LogicalResult compileIsFirst(IsFirstOp op, ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getFirst());
  builder.emit([=](Frame &frame) {
    frame.slot(result).integer = frame.execution->inFirstBlock;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.finalize
//===----------------------------------------------------------------------===//

static LogicalResult compileFinalize(FinalizeOp op, ProgramBuilder &builder) {
  unsigned accumulator = builder.getRegister(op.getAccumulator());
  unsigned maximum = builder.getRegister(op.getMaximum());
  unsigned sum = builder.getRegister(op.getSum());
  Use output = builder.getUse(op.getOutputMutable());
  std::optional<Use> lse;
  if (op.getLse())
    lse = builder.getUse(*op.getLseMutable().begin());
  std::optional<unsigned> rowsRegister;
  if (op.getRows())
    rowsRegister = builder.getRegister(op.getRows());
  // A score of all rows, or of each.
  std::optional<unsigned> sink;
  bool isSinkOfRows = false;
  if (op.getSink()) {
    sink = builder.getRegister(op.getSink());
    isSinkOfRows = isa<ShapedType>(op.getSink().getType());
  }
  SmallVector<unsigned> results = builder.getRegisters(op->getResults());
  DimsAttr order = op.getOutputOrder();
  builder.emit([=](Frame &frame) -> LogicalResult {
    const Array &acc = frame.array(accumulator);
    const Array &max = frame.array(maximum), &total = frame.array(sum);
    ArrayRefPtr target = getDestination(frame, output, !results.empty());
    ArrayRefPtr logs =
        lse ? getDestination(frame, *lse, !results.empty()) : nullptr;
    OrderedOperand tile(*target, order);
    int64_t rows = rowsRegister ? frame.integer(*rowsRegister)
                                : tile.getSize(DimKind::Sequence);
    if (rows > tile.getSize(DimKind::Sequence) || rows > acc.shape[0] ||
        (logs && rows > logs->shape[2]))
      return op->emitError("finalizes ")
             << rows << " rows of a state of " << acc.shape[0]
             << " into a tile of " << tile.getSize(DimKind::Sequence);
    for (int64_t row = 0; row < rows; ++row) {
      double weight = total.data()[row * total.strides[0]].real;
      double largest = max.data()[row * max.strides[0]].real, decay = 1;
      if (sink) {
        double score = frame.slot(*sink).real;
        if (isSinkOfRows) {
          const Array &scores = frame.array(*sink);
          score = scores.data()[row * scores.strides[0]].real;
        }
        double both = std::isnan(score) ? score : std::max(largest, score);
        if (both != -infinity) {
          decay = weight == 0 ? 0 : std::exp(largest - both);
          weight = weight * decay + std::exp(score - both);
          largest = both;
        }
      }
      Slot *to = tile.getRow(0, row, 0);
      const Slot *from = acc.data() + row * acc.strides[0];
      for (int64_t dim = 0; dim < tile.getSize(DimKind::HeadDim); ++dim)
        to[dim * tile.getStep()].real =
            weight == 0 ? 0 : from[dim * acc.strides[1]].real * decay / weight;
      if (logs)
        logs->data()[row * logs->strides[2]].real =
            weight == 0 ? -infinity : largest + std::log(weight);
    }
    if (!results.empty())
      frame[results[0]] = target;
    if (results.size() > 1)
      frame[results[1]] = logs;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.paged_rows
//===----------------------------------------------------------------------===//

static LogicalResult compilePagedRows(PagedRowsOp op, ProgramBuilder &builder) {
  unsigned pool = builder.getRegister(op.getPool());
  unsigned pages = builder.getRegister(op.getPages());
  unsigned numbers[] = {builder.getRegister(op.getHead()),
                        builder.getRegister(op.getBatch()),
                        builder.getRegister(op.getCount())};
  unsigned result = builder.getRegister(op.getRows());
  DimsAttr order = op.getDims();
  builder.emit([=](Frame &frame) -> LogicalResult {
    int64_t head = frame.integer(numbers[0]), batch = frame.integer(numbers[1]);
    int64_t count = frame.integer(numbers[2]);
    OrderedOperand source(frame.array(pool), order);
    const Array &table = frame.array(pages);
    source.pages = &table;
    int64_t size = source.getSize(DimKind::Sequence);
    if (failed(checkLive(op, *source.array)) || failed(checkLive(op, table)))
      return failure();
    if (head < 0 || head >= source.getSize(DimKind::Heads) || batch < 0 ||
        batch >= table.shape[0] || count < 0 || count > table.shape[1] * size)
      return op->emitError("reads ")
             << count << " rows of head " << head << " and batch " << batch
             << " from pages of " << source.getSize(DimKind::Heads)
             << " heads and a table of " << table.shape[0] << " batches with "
             << table.shape[1] << " pages of " << size << " rows";
    int64_t dims = source.getSize(DimKind::HeadDim);
    ArrayRefPtr rows = makeArray({1, count, 1, dims});
    for (int64_t row = 0; row < count; ++row) {
      int64_t page = OrderedOperand::getEntry(table, batch, row / size);
      if (page < 0 || page >= source.getSize(DimKind::Page))
        return op->emitError("reads page ")
               << page << " of a pool of " << source.getSize(DimKind::Page);
      const Slot *from = source.getRow(batch, row, head);
      for (int64_t dim = 0; dim < dims; ++dim)
        rows->data()[row * dims + dim] = from[dim * source.getStep()];
    }
    frame[result] = rows;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.combine
//===----------------------------------------------------------------------===//

namespace {
struct CombinePlan {
  CombineOp op;
  unsigned outputA, lseA, outputB, lseB;
  Use output;
  std::optional<Use> lse;
  std::optional<unsigned> queryLengths, batchOffset, queryOffset;
  SmallVector<unsigned> results;
  DimsAttr order;
};
} // namespace

/// A partial result counts only where its lse is above -inf.
static double addPart(double weight, double value) {
  return weight == 0 ? 0 : weight * value;
}

static FailureOr<int64_t> getValidQueries(const CombinePlan &plan, Frame &frame,
                                          int64_t batch, int64_t queries) {
  if (!plan.queryLengths)
    return queries;
  const Array &lengths = frame.array(*plan.queryLengths);
  if (plan.batchOffset)
    batch += frame.integer(*plan.batchOffset);
  FailureOr<int64_t> offset = getElementOffset(plan.op, lengths, {batch});
  if (failed(offset))
    return failure();
  int64_t first = plan.queryOffset ? frame.integer(*plan.queryOffset) : 0;
  return std::min(queries, lengths.storage->data()[*offset].integer - first);
}

static LogicalResult runCombine(const CombinePlan &plan, Frame &frame) {
  OrderedOperand a(frame.array(plan.outputA), plan.order);
  OrderedOperand b(frame.array(plan.outputB), plan.order);
  Array &lseA = frame.array(plan.lseA), &lseB = frame.array(plan.lseB);
  bool onTensors = !plan.results.empty();
  ArrayRefPtr target = getDestination(frame, plan.output, onTensors);
  ArrayRefPtr logs =
      plan.lse ? getDestination(frame, *plan.lse, onTensors) : nullptr;
  OrderedOperand output(*target, plan.order);
  SmallVector<int64_t> lseShape = {output.sizes[0], output.sizes[2],
                                   output.sizes[1]};
  if (a.array->shape != target->shape || b.array->shape != target->shape ||
      ArrayRef<int64_t>(lseA.shape) != ArrayRef<int64_t>(lseShape) ||
      ArrayRef<int64_t>(lseB.shape) != ArrayRef<int64_t>(lseShape))
    return plan.op->emitError("operands differ in shape at run time");
  for (int64_t batch = 0; batch < output.sizes[0]; ++batch) {
    FailureOr<int64_t> queries =
        getValidQueries(plan, frame, batch, output.sizes[1]);
    if (failed(queries))
      return failure();
    for (int64_t head = 0; head < output.sizes[2]; ++head)
      for (int64_t query = 0; query < *queries; ++query) {
        double logA = getRowNumber(lseA, batch, head, query).real;
        double logB = getRowNumber(lseB, batch, head, query).real;
        double shift = std::isnan(logA) || std::isnan(logB)
                           ? logA + logB
                           : std::max(logA, logB);
        bool isEmpty = shift == -infinity;
        double weightA = isEmpty ? 0 : std::exp(logA - shift);
        double weightB = isEmpty ? 0 : std::exp(logB - shift);
        double total = weightA + weightB;
        const Slot *rowA = a.getRow(batch, query, head);
        const Slot *rowB = b.getRow(batch, query, head);
        Slot *row = output.getRow(batch, query, head);
        for (int64_t dim = 0; dim < output.sizes[3]; ++dim) {
          double value = addPart(weightA, rowA[dim * a.getStep()].real) +
                         addPart(weightB, rowB[dim * b.getStep()].real);
          row[dim * output.getStep()].real = isEmpty ? 0 : value / total;
        }
        if (logs)
          getRowNumber(*logs, batch, head, query).real =
              isEmpty ? -infinity : shift + std::log(total);
      }
  }
  if (onTensors)
    frame[plan.results[0]] = target;
  if (onTensors && logs)
    frame[plan.results[1]] = logs;
  return success();
}

static LogicalResult compileCombine(CombineOp op, ProgramBuilder &builder) {
  CombinePlan plan;
  plan.op = op;
  plan.outputA = builder.getRegister(op.getOutputA());
  plan.lseA = builder.getRegister(op.getLseA());
  plan.outputB = builder.getRegister(op.getOutputB());
  plan.lseB = builder.getRegister(op.getLseB());
  plan.output = builder.getUse(op.getOutputMutable());
  if (op.getLse())
    plan.lse = builder.getUse(*op.getLseMutable().begin());
  if (op.getQueryLengths())
    plan.queryLengths = builder.getRegister(op.getQueryLengths());
  if (op.getBatchOffset())
    plan.batchOffset = builder.getRegister(op.getBatchOffset());
  if (op.getQueryOffset())
    plan.queryOffset = builder.getRegister(op.getQueryOffset());
  plan.results = builder.getRegisters(op->getResults());
  plan.order = op.getOrder();
  builder.emit([plan](Frame &frame) { return runCombine(plan, frame); });
  return success();
}

//===----------------------------------------------------------------------===//
// fa.add_partial
//===----------------------------------------------------------------------===//

namespace {
struct AddPartialPlan {
  AddPartialOp op;
  unsigned output, lse;
  std::array<Use, 3> state;
  SmallVector<unsigned> results;
};
} // namespace

static LogicalResult runAddPartial(const AddPartialPlan &plan, Frame &frame) {
  Array &output = frame.array(plan.output), &lse = frame.array(plan.lse);
  if (failed(checkLive(plan.op, output)) || failed(checkLive(plan.op, lse)))
    return failure();
  SmallVector<ArrayRefPtr, 3> state;
  for (Use use : plan.state)
    state.push_back(getDestination(frame, use, /*onTensors=*/true));
  const Array &sums = *state[0];
  int64_t rows = output.shape[1], dims = sums.shape[1];
  if (rows > sums.shape[0] || lse.shape[2] != rows || output.shape[3] != dims)
    return plan.op->emitError("adds ")
           << rows << " rows of " << output.shape[3] << " with " << lse.shape[2]
           << " lse to a state of " << sums.shape[0] << " rows of " << dims;
  auto at = [](const ArrayRefPtr &array, int64_t row) -> Slot & {
    return array->data()[row * array->strides[0]];
  };
  for (int64_t row = 0; row < sums.shape[0]; ++row) {
    Slot *to = &at(state[0], row);
    int64_t step = sums.strides[1];
    if (row >= rows) {
      // Padding, which nothing may use.
      for (int64_t dim = 0; dim < dims; ++dim)
        to[dim * step] = Slot::ofReal(NAN);
      at(state[1], row) = at(state[2], row) = Slot::ofReal(NAN);
      continue;
    }
    double log = lse.data()[row * lse.strides[2]].real;
    double &maximum = at(state[1], row).real, &sum = at(state[2], row).real;
    double both = std::isnan(log) ? log : std::max(maximum, log);
    double decay = both == -infinity || maximum == -infinity
                       ? 0
                       : std::exp(maximum - both);
    double weight = both == -infinity ? 0 : std::exp(log - both);
    const Slot *from = output.data() + row * output.strides[1];
    for (int64_t dim = 0; dim < dims; ++dim) {
      double &total = to[dim * step].real;
      total =
          total * decay + addPart(weight, from[dim * output.strides[3]].real);
    }
    sum = sum * decay + weight;
    maximum = both;
  }
  for (auto [index, array] : llvm::zip_equal(plan.results, state))
    frame[index] = array;
  return success();
}

static LogicalResult compileAddPartial(AddPartialOp op,
                                       ProgramBuilder &builder) {
  AddPartialPlan plan;
  plan.op = op;
  plan.output = builder.getRegister(op.getOutput());
  plan.lse = builder.getRegister(op.getLse());
  plan.state = {builder.getUse(op.getAccumulatorMutable()),
                builder.getUse(op.getMaximumMutable()),
                builder.getUse(op.getSumMutable())};
  plan.results = builder.getRegisters(op->getResults());
  builder.emit([plan](Frame &frame) { return runAddPartial(plan, frame); });
  return success();
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

static LogicalResult compileQueryLength(QueryLengthOp op,
                                        LaneBuilder &builder) {
  builder.useContext(static_cast<unsigned>(RegionContext::QueryLength),
                     op.getLength());
  return success();
}

static LogicalResult compileKeyLength(KeyLengthOp op, LaneBuilder &builder) {
  builder.useContext(static_cast<unsigned>(RegionContext::KeyLength),
                     op.getLength());
  return success();
}

void executor::addFAStateSemantics(Semantics &semantics) {
  semantics.add<KeyRangesOp>(compileRanges<KeyRangesOp>);
  semantics.add<QueryRangesOp>(compileRanges<QueryRangesOp>);
  semantics.add<IsPartialOp>(compileIsPartial);
  semantics.add<IsFirstOp>(compileIsFirst);
  semantics.add<FinalizeOp>(compileFinalize);
  semantics.add<PagedRowsOp>(compilePagedRows);
  semantics.add<AddPartialOp>(compileAddPartial);
  semantics.add<CombineOp>(compileCombine);
  semantics.addLanes<QueryLengthOp>(compileQueryLength);
  semantics.addLanes<KeyLengthOp>(compileKeyLength);
}
