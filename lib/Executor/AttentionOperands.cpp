//===- AttentionOperands.cpp - Operands of one attention ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an evaluation of one attention reads. Three sections: operands and their
// run-time checks, places of rows, and the count of visible pairs. Begin with
// `bindOperands`, which makes an AttentionRun of a frame; then `setSequence`
// for packed and paged rows; `countWork` needs only the mask.
//
//===----------------------------------------------------------------------===//

#include "AttentionOperands.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult executor::compileOperands(AttentionLikeOpInterface op,
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

LogicalResult executor::checkEqual(Operation *op, StringRef name, int64_t size,
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
  auto checkBatches = [&](StringRef name, const OrderedOperand &operand) {
    int64_t batches = operand.starts  ? operand.starts->shape[0] - 1
                      : operand.pages ? operand.pages->shape[0]
                                      : operand.getSize(DimKind::Batch);
    return checkEqual(op, ("batch size of the " + name).str(), batches,
                      run.batches);
  };
  if (failed(checkBatches("key", run.key)) ||
      failed(checkBatches("value", run.value)) ||
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

FailureOr<AttentionRun> executor::bindOperands(const AttentionPlan &plan,
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
  auto getTable = [&](std::optional<unsigned> index) {
    return index ? &frame.array(*index) : nullptr;
  };
  run.isRagged = plan.isRagged();
  run.query.starts = getTable(plan.queryStarts);
  run.key.starts = run.value.starts = getTable(plan.keyStarts);
  run.key.pages = run.value.pages = getTable(plan.keyPages);
  run.batches = run.query.starts ? run.query.starts->shape[0] - 1
                                 : run.query.getSize(DimKind::Batch);
  if (failed(checkSizesAgree(plan.op, run)))
    return failure();
  return run;
}

LogicalResult executor::checkLikeQuery(const AttentionPlan &plan,
                                       const AttentionRun &run, StringRef name,
                                       const OrderedOperand &operand,
                                       int64_t headDim) {
  int64_t expected[4] = {run.query.sizes[0], run.query.sizes[1],
                         run.query.sizes[2], headDim};
  for (int64_t i = 0; i < 4; ++i)
    if (failed(checkEqual(plan.op, ("size of the " + name).str(),
                          operand.sizes[i], expected[i])))
      return failure();
  return checkLive(plan.op, *operand.array);
}

LogicalResult executor::checkRowNumbers(const AttentionPlan &plan,
                                        const AttentionRun &run, StringRef name,
                                        const Array &array) {
  SmallVector<int64_t> expected = {run.query.sizes[0], run.query.sizes[2],
                                   run.query.sizes[1]};
  if (run.query.starts)
    expected.erase(expected.begin());
  for (size_t i = 0; i < expected.size(); ++i)
    if (failed(checkEqual(plan.op, ("size of the " + name).str(),
                          array.shape[i], expected[i])))
      return failure();
  return checkLive(plan.op, array);
}

/// Whether the page of a key is one of the pools.
static bool hasPage(const AttentionRun &run, int64_t batch, int64_t key) {
  int64_t pages = std::min(run.key.getSize(DimKind::Page),
                           run.value.getSize(DimKind::Page));
  int64_t rows = run.key.getSize(DimKind::Sequence);
  int64_t page = OrderedOperand::getEntry(*run.key.pages, batch, key / rows);
  return page >= 0 && page < pages;
}

HeadData executor::packHead(const AttentionRun &run, int64_t batch,
                            int64_t head, int64_t numKeys) {
  HeadData data;
  data.headDim = run.headDim;
  data.valueHeadDim = run.valueHeadDim;
  data.numKeys = numKeys;
  data.firstKey = run.offsets[3];
  data.keysTransposed.resize(numKeys * run.headDim);
  data.values.resize(numKeys * run.valueHeadDim);
  std::vector<double> row(run.headDim);
  for (int64_t key = 0; key < numKeys; ++key) {
    if (run.key.pages && !hasPage(run, batch, key)) {
      data.isMissing.resize(numKeys);
      data.isMissing[key] = true;
      continue;
    }
    run.key.read(batch, key, head, row.data());
    for (int64_t dim = 0; dim < run.headDim; ++dim)
      data.keysTransposed[dim * numKeys + key] = row[dim];
    run.value.read(batch, key, head,
                   data.values.data() + key * run.valueHeadDim);
  }
  return data;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static FailureOr<int64_t> getLength(const AttentionPlan &plan, Frame &frame,
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

/// The rows of an operand that a sequence has room for; fewer than none where
/// what says so is wrong.
static int64_t getRoom(const OrderedOperand &operand, int64_t batch) {
  if (operand.pages)
    return operand.pages->shape[1] * operand.getSize(DimKind::Sequence);
  int64_t rows = operand.getSize(DimKind::Sequence);
  if (!operand.starts)
    return rows;
  int64_t first = OrderedOperand::getEntry(*operand.starts, batch);
  int64_t end = OrderedOperand::getEntry(*operand.starts, batch + 1);
  return first >= 0 && end <= rows ? std::max<int64_t>(end - first, -1) : -1;
}

/// Whether the first pages of a sequence are pages of the pools.
static bool hasPages(const AttentionRun &run, int64_t batch, int64_t keys) {
  int64_t rows = run.key.getSize(DimKind::Sequence);
  for (int64_t key = 0; key < keys; key += rows)
    if (!hasPage(run, batch, key))
      return false;
  return true;
}

/// The valid rows of packed or paged sequences. No row is read by starts,
/// lengths or pages that are out of bounds.
static LogicalResult setSequence(const AttentionPlan &plan, Frame &frame,
                                 const AttentionRun &run, int64_t batch,
                                 RowPosition &position) {
  auto find = [&](const OrderedOperand &operand,
                  std::optional<unsigned> lengths,
                  int64_t &length) -> LogicalResult {
    int64_t room = getRoom(operand, batch);
    FailureOr<int64_t> given = getLength(plan, frame, lengths, batch, room);
    if (failed(given))
      return failure();
    position.isBroken |= room < 0 || *given < 0 || *given > room;
    length = *given < 0 || *given > room ? std::max<int64_t>(room, 0) : *given;
    return success();
  };
  if (failed(find(run.query, plan.queryLengths, position.queryLength)) ||
      failed(find(run.key, plan.keyLengths, position.keyLength)))
    return failure();
  if (!position.isBroken && run.key.pages && plan.spoilsSequences)
    position.isBroken = !hasPages(run, batch, position.keyLength);
  if (position.isBroken)
    position.keyLength = 0;
  return success();
}

FailureOr<std::pair<int64_t, int64_t>>
executor::getMostRows(const AttentionPlan &plan, Frame &frame,
                      const AttentionRun &run) {
  if (!run.isRagged)
    return std::make_pair(run.query.getSize(DimKind::Sequence),
                          run.key.getSize(DimKind::Sequence));
  std::pair<int64_t, int64_t> most = {0, 0};
  for (int64_t batch = 0; batch < run.batches; ++batch) {
    RowPosition position;
    if (failed(setSequence(plan, frame, run, batch, position)))
      return failure();
    most.first = std::max(most.first, position.queryLength);
    most.second = std::max(most.second, position.keyLength);
  }
  return most;
}

FailureOr<RowPosition> executor::getHeadPosition(const AttentionPlan &plan,
                                                 Frame &frame,
                                                 const AttentionRun &run,
                                                 int64_t batch, int64_t head) {
  RowPosition position;
  position.batch = run.offsets[0] + batch;
  position.head = run.offsets[1] + head;
  if (run.isRagged) {
    if (failed(setSequence(plan, frame, run, batch, position)))
      return failure();
    return position;
  }
  auto queryLength =
      getLength(plan, frame, plan.queryLengths, position.batch, run.extents[0]);
  auto keyLength =
      getLength(plan, frame, plan.keyLengths, position.batch, run.extents[1]);
  if (failed(queryLength) || failed(keyLength))
    return failure();
  position.queryLength = *queryLength;
  position.keyLength = *keyLength;
  return position;
}

RowPosition executor::getStepPosition(const AttentionPlan &plan,
                                      const AttentionRun &run) {
  RowPosition position;
  position.batch = run.offsets[0];
  position.head = run.offsets[1];
  position.queryLength = run.extents[0];
  position.keyLength =
      plan.extents.empty() ? run.offsets[3] + run.extents[1] : run.extents[1];
  return position;
}

MaskUse executor::getMaskUse(const Execution &execution) {
  if (!execution.inFullRange)
    return MaskUse::Apply;
  return execution.checkFullRanges ? MaskUse::Check : MaskUse::Ignore;
}

ArrayRefPtr executor::getDestination(Frame &frame, Use use, bool onTensors) {
  return onTensors ? takeForUpdate(frame, use) : frame.arrayRef(use.index);
}

int64_t executor::getNumKeys(const AttentionRun &run,
                             const RowPosition &position) {
  if (run.isRagged)
    return position.keyLength;
  return std::clamp<int64_t>(position.keyLength - run.offsets[3], 0,
                             run.key.getSize(DimKind::Sequence));
}

void executor::poisonPadding(ArrayRef<ArrayRefPtr> state, int64_t numRows) {
  Slot poison = Slot::ofReal(std::numeric_limits<double>::quiet_NaN());
  for (const ArrayRefPtr &array : state) {
    SmallVector<int64_t> shape = llvm::to_vector(array->shape);
    shape[0] -= numRows;
    ArrayRefPtr padding =
        makeView(*array, array->offset + numRows * array->strides[0], shape,
                 array->strides);
    fillElements(*padding, poison);
  }
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

namespace {
/// What counting one head needs.
struct CountingRun {
  const AttentionPlan &plan;
  Frame &frame;
  const AttentionRun &operands;
  RowEvaluator rows;
};
} // namespace

/// Visible keys of one row, from the mask alone.
static FailureOr<double> countRow(CountingRun &run, RowPosition position,
                                  const HeadData &head, int64_t query) {
  position.query = run.operands.offsets[2] + query;
  if (failed(run.rows.findVisible(position, head, MaskUse::Apply)))
    return failure();
  return static_cast<double>(run.rows.getVisible().size());
}

/// Pairs of one head that are looked at one by one; above, only some rows are.
static constexpr int64_t maxCountedPairs = int64_t(1) << 25;

/// Visible pairs of one head. Between the rows looked at the counts are taken
/// as linear, which those of causal masks and windows are but for two rows.
static FailureOr<double> countHead(CountingRun &run, int64_t batch,
                                   int64_t head, bool &isEstimate) {
  FailureOr<RowPosition> position =
      getHeadPosition(run.plan, run.frame, run.operands, batch, head);
  if (failed(position))
    return failure();
  HeadData data;
  data.firstKey = run.operands.offsets[3];
  data.numKeys = getNumKeys(run.operands, *position);
  int64_t rows = run.operands.isRagged
                     ? position->queryLength
                     : std::clamp<int64_t>(
                           position->queryLength - run.operands.offsets[2], 0,
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

LogicalResult executor::countWork(const AttentionPlan &plan, Frame &frame,
                                  const AttentionRun &operands, double factor,
                                  AttentionWork &work) {
  CountingRun run{plan, frame, operands,
                  RowEvaluator(plan.op, plan.score, plan.mask, frame)};
  int64_t batches = operands.batches;
  int64_t heads = operands.query.getSize(DimKind::Heads);
  if (batches * heads == 0)
    return success();
  // Heads that the mask cannot tell apart are counted once.
  bool sameHeads = !plan.mask.readsHead();
  bool sameBatches = !plan.mask.readsBatch() && !plan.queryLengths &&
                     !plan.keyLengths && !plan.isRagged();
  double pairs = 0;
  for (int64_t batch = 0; batch < (sameBatches ? 1 : batches); ++batch)
    for (int64_t head = 0; head < (sameHeads ? 1 : heads); ++head) {
      FailureOr<double> counted = countHead(run, batch, head, work.isEstimate);
      if (failed(counted))
        return failure();
      pairs += *counted * (sameBatches ? batches : 1) * (sameHeads ? heads : 1);
    }
  work.pairs += pairs;
  work.operations +=
      factor * pairs * 2 * (operands.headDim + operands.valueHeadDim);
  return success();
}
