//===- AppendSemantics.cpp - fa.append in the executor --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Appending to a cache by its definition, in doubles. Begin with `runAppend`.
// It calls `appendSequence` for each sequence: `findNewRows` says which rows
// are new, or that there are none, `turn` rotates a key, `writeRow` stores it.
//
//===----------------------------------------------------------------------===//

#include "AttentionOperands.h"
#include "FAParts.h"
#include "OrderedOperand.h"
#include "fa/Executor/ArrayOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
struct AppendPlan {
  AppendOp op;
  unsigned key, value, keyLengths;
  std::optional<unsigned> newLengths, keyStarts, keyPages, cosines, sines;
  DimsAttr keyOrder, valueOrder, keyCacheOrder, valueCacheOrder;
  Use keyCache, valueCache;
  std::optional<Rotary> rotary;
  SmallVector<unsigned> results;
};

/// The operands of one run.
struct AppendRun {
  AppendOp op;
  OrderedOperand key, value, keyCache, valueCache;
  const Array &lengths;
  const Array *newLengths, *cosines, *sines;
  std::optional<Rotary> rotary;
  int64_t batches;
};

/// New rows of a sequence, and the row of its cache where they begin.
struct NewRows {
  int64_t count, before;
};
} // namespace

/// Sizes that types leave open.
static LogicalResult checkSizesAgree(const AppendRun &run) {
  auto getBatches = [](const OrderedOperand &operand) {
    return operand.starts  ? operand.starts->shape[0] - 1
           : operand.pages ? operand.pages->shape[0]
                           : operand.getSize(DimKind::Batch);
  };
  auto agree = [&](StringRef name, const OrderedOperand &operand,
                   const OrderedOperand &model, DimKind kind) {
    return checkEqual(run.op, name, operand.getSize(kind), model.getSize(kind));
  };
  std::pair<StringRef, const OrderedOperand *> all[] = {
      {"value", &run.value},
      {"key cache", &run.keyCache},
      {"value cache", &run.valueCache}};
  for (auto [name, operand] : all)
    if (failed(checkEqual(run.op, ("batch size of the " + name).str(),
                          getBatches(*operand), run.batches)) ||
        failed(agree(("number of heads of the " + name).str(), *operand,
                     run.key, DimKind::Heads)))
      return failure();
  if (failed(agree("number of new values", run.value, run.key,
                   DimKind::Sequence)) ||
      failed(agree("number of rows of the value cache", run.valueCache,
                   run.keyCache, DimKind::Sequence)) ||
      failed(agree("head dim of the key cache", run.keyCache, run.key,
                   DimKind::HeadDim)) ||
      failed(agree("head dim of the value cache", run.valueCache, run.value,
                   DimKind::HeadDim)) ||
      failed(checkEqual(run.op, "number of lengths", run.lengths.shape[0],
                        run.batches)))
    return failure();
  return run.newLengths ? checkEqual(run.op, "number of new lengths",
                                     run.newLengths->shape[0], run.batches)
                        : success();
}

/// Whether all rows from `first` to `end` of a sequence lie in the pools.
static bool liesInPools(const AppendRun &run, int64_t batch, int64_t first,
                        int64_t end) {
  int64_t pages = std::min(run.keyCache.getSize(DimKind::Page),
                           run.valueCache.getSize(DimKind::Page));
  int64_t rows = run.keyCache.getSize(DimKind::Sequence);
  for (int64_t row = first; row < end; ++row) {
    int64_t page =
        OrderedOperand::getEntry(*run.keyCache.pages, batch, row / rows);
    if (page < 0 || page >= pages)
      return false;
  }
  return true;
}

/// The new rows of a sequence; none where what says so is wrong.
static NewRows findNewRows(const AppendRun &run, int64_t batch) {
  constexpr NewRows none = {0, 0};
  int64_t room = run.key.getSize(DimKind::Sequence);
  if (run.key.starts) {
    int64_t first = OrderedOperand::getEntry(*run.key.starts, batch);
    int64_t end = OrderedOperand::getEntry(*run.key.starts, batch + 1);
    if (first < 0 || end < first || end > room)
      return none;
    room = end - first;
  }
  int64_t count = room;
  if (run.newLengths)
    count = OrderedOperand::getEntry(*run.newLengths, batch);
  int64_t length = OrderedOperand::getEntry(run.lengths, batch);
  int64_t capacity = run.keyCache.getSize(DimKind::Sequence);
  if (run.keyCache.pages)
    capacity *= run.keyCache.pages->shape[1];
  if (count < 0 || count > room || length < count || length > capacity)
    return none;
  if (run.rotary &&
      length > std::min(run.cosines->shape[0], run.sines->shape[0]))
    return none;
  if (run.keyCache.pages && !liesInPools(run, batch, length - count, length))
    return none;
  return {count, length - count};
}

/// Turns the pairs of a key.
static void turn(const AppendRun &run, int64_t position, double *key) {
  int64_t pairs = run.cosines->shape[1];
  auto getAngle = [&](const Array &table, int64_t pair) {
    return table.data()[position * table.strides[0] + pair * table.strides[1]]
        .real;
  };
  bool isInterleaved = *run.rotary == Rotary::interleaved;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    double &x = key[isInterleaved ? 2 * pair : pair];
    double &y = key[isInterleaved ? 2 * pair + 1 : pair + pairs];
    double cosine = getAngle(*run.cosines, pair);
    double sine = getAngle(*run.sines, pair);
    double turned = x * cosine - y * sine;
    y = x * sine + y * cosine;
    x = turned;
  }
}

static void writeRow(const OrderedOperand &cache, int64_t batch, int64_t row,
                     int64_t head, ArrayRef<double> numbers) {
  Slot *to = cache.getRow(batch, row, head);
  for (auto [dim, number] : llvm::enumerate(numbers))
    to[dim * cache.getStep()].real = number;
}

static void appendSequence(const AppendRun &run, int64_t batch) {
  NewRows rows = findNewRows(run, batch);
  std::vector<double> key(run.key.getSize(DimKind::HeadDim));
  std::vector<double> value(run.value.getSize(DimKind::HeadDim));
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t head = 0; head < run.key.getSize(DimKind::Heads); ++head) {
      run.key.read(batch, row, head, key.data());
      run.value.read(batch, row, head, value.data());
      if (run.rotary)
        turn(run, rows.before + row, key.data());
      writeRow(run.keyCache, batch, rows.before + row, head, key);
      writeRow(run.valueCache, batch, rows.before + row, head, value);
    }
}

static LogicalResult runAppend(const AppendPlan &plan, Frame &frame) {
  bool onTensors = !plan.results.empty();
  ArrayRefPtr keys = getDestination(frame, plan.keyCache, onTensors);
  ArrayRefPtr values = getDestination(frame, plan.valueCache, onTensors);
  auto getTable = [&](std::optional<unsigned> index) -> const Array * {
    return index ? &frame.array(*index) : nullptr;
  };
  AppendRun run{plan.op,
                OrderedOperand(frame.array(plan.key), plan.keyOrder),
                OrderedOperand(frame.array(plan.value), plan.valueOrder),
                OrderedOperand(*keys, plan.keyCacheOrder),
                OrderedOperand(*values, plan.valueCacheOrder),
                frame.array(plan.keyLengths),
                getTable(plan.newLengths),
                getTable(plan.cosines),
                getTable(plan.sines),
                plan.rotary,
                /*batches=*/0};
  run.key.starts = run.value.starts = getTable(plan.keyStarts);
  run.keyCache.pages = run.valueCache.pages = getTable(plan.keyPages);
  run.batches = run.key.starts ? run.key.starts->shape[0] - 1
                               : run.key.getSize(DimKind::Batch);
  for (const OrderedOperand *operand :
       {&run.key, &run.value, &run.keyCache, &run.valueCache})
    if (failed(checkLive(plan.op, *operand->array)))
      return failure();
  if (failed(checkSizesAgree(run)))
    return failure();
  for (int64_t batch = 0; batch < run.batches; ++batch)
    appendSequence(run, batch);
  if (onTensors) {
    frame[plan.results[0]] = keys;
    frame[plan.results[1]] = values;
  }
  return success();
}

static LogicalResult compileAppend(AppendOp op, ProgramBuilder &builder) {
  AppendPlan plan;
  auto getOptional = [&](Value value) -> std::optional<unsigned> {
    return value ? std::optional(builder.getRegister(value)) : std::nullopt;
  };
  plan.op = op;
  plan.key = builder.getRegister(op.getKey());
  plan.value = builder.getRegister(op.getValue());
  plan.keyLengths = builder.getRegister(op.getKeyLengths());
  plan.newLengths = getOptional(op.getNewLengths());
  plan.keyStarts = getOptional(op.getKeyStarts());
  plan.keyPages = getOptional(op.getKeyPages());
  plan.cosines = getOptional(op.getCosines());
  plan.sines = getOptional(op.getSines());
  plan.keyOrder = op.getKeyOrder();
  plan.valueOrder = op.getValueOrder();
  plan.keyCacheOrder = op.getKeyCacheOrder();
  plan.valueCacheOrder = op.getValueCacheOrder();
  plan.rotary = op.getRotary();
  plan.keyCache = builder.getUse(op.getKeyCacheMutable());
  plan.valueCache = builder.getUse(op.getValueCacheMutable());
  plan.results = builder.getRegisters(op->getResults());
  builder.emit([plan = std::move(plan)](Frame &frame) {
    return runAppend(plan, frame);
  });
  return success();
}

void executor::addAppendSemantics(Semantics &semantics) {
  semantics.add<AppendOp>(compileAppend);
}
