//===- SequenceErrorSemantics.cpp - fa.sequence_errors --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The words by their definition. Read `findErrors`, one sequence after the
// other.
//
//===----------------------------------------------------------------------===//

#include "AttentionOperands.h"
#include "FAParts.h"
#include "OrderedOperand.h"
#include "fa/Dialect/FA/IR/FASequence.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
struct ErrorsPlan {
  SequenceErrorsOp op;
  unsigned query, key, value;
  std::optional<unsigned> queryLengths, keyLengths, queryStarts, keyStarts,
      keyPages;
  Use errors;
  SmallVector<unsigned> results;
};

/// The rows of one side: of queries, or of keys.
struct Side {
  const OrderedOperand &operand;
  const Array *lengths;
  SequenceError ofStarts, ofLength;
};
} // namespace

/// The rows of a sequence, none where something is wrong with them.
static int64_t countRows(const Side &side, int64_t batch, int64_t &errors) {
  const OrderedOperand &operand = side.operand;
  int64_t room = operand.getSize(DimKind::Sequence);
  if (operand.pages)
    room *= operand.pages->shape[1];
  if (operand.starts) {
    int64_t first = OrderedOperand::getEntry(*operand.starts, batch);
    int64_t end = OrderedOperand::getEntry(*operand.starts, batch + 1);
    if (first < 0 || end < first || end > room) {
      errors += static_cast<int64_t>(side.ofStarts);
      return 0;
    }
    room = end - first;
  }
  if (!side.lengths)
    return room;
  int64_t length = OrderedOperand::getEntry(*side.lengths, batch);
  if (length >= 0 && length <= room)
    return length;
  errors += static_cast<int64_t>(side.ofLength);
  return 0;
}

static int64_t findErrors(const Side &queries, const Side &keys,
                          int64_t pagesInPools, int64_t batch) {
  int64_t errors = 0;
  countRows(queries, batch, errors);
  int64_t count = countRows(keys, batch, errors);
  if (!keys.operand.pages)
    return errors;
  int64_t rows = keys.operand.getSize(DimKind::Sequence);
  for (int64_t number = 0; number * rows < count; ++number) {
    int64_t page = OrderedOperand::getEntry(*keys.operand.pages, batch, number);
    if (page < 0 || page >= pagesInPools)
      return errors + static_cast<int64_t>(SequenceError::KeyPages);
  }
  return errors;
}

/// Sizes that types leave open.
static LogicalResult checkBatches(SequenceErrorsOp op, int64_t batches,
                                  const Side &side, StringRef name) {
  int64_t ofOperand = side.operand.starts ? side.operand.starts->shape[0] - 1
                      : side.operand.pages
                          ? side.operand.pages->shape[0]
                          : side.operand.getSize(DimKind::Batch);
  if (failed(checkEqual(op, ("batch size of the " + name).str(), ofOperand,
                        batches)))
    return failure();
  return side.lengths
             ? checkEqual(op, ("number of lengths of the " + name).str(),
                          side.lengths->shape[0], batches)
             : success();
}

static LogicalResult run(const ErrorsPlan &plan, Frame &frame) {
  bool onTensors = !plan.results.empty();
  ArrayRefPtr words = getDestination(frame, plan.errors, onTensors);
  auto getTable = [&](std::optional<unsigned> index) -> const Array * {
    return index ? &frame.array(*index) : nullptr;
  };
  SequenceErrorsOp op = plan.op;
  OrderedOperand query(frame.array(plan.query), op.getQueryOrder());
  OrderedOperand key(frame.array(plan.key), op.getKeyOrder());
  OrderedOperand value(frame.array(plan.value), op.getValueOrder());
  query.starts = getTable(plan.queryStarts);
  key.starts = getTable(plan.keyStarts);
  key.pages = getTable(plan.keyPages);
  Side queries{query, getTable(plan.queryLengths), SequenceError::QueryStarts,
               SequenceError::QueryLength};
  Side keys{key, getTable(plan.keyLengths), SequenceError::KeyStarts,
            SequenceError::KeyLength};
  int64_t batches = words->shape[0];
  if (failed(checkBatches(op, batches, queries, "query")) ||
      failed(checkBatches(op, batches, keys, "key")))
    return failure();
  int64_t pages =
      std::min(key.getSize(DimKind::Page), value.getSize(DimKind::Page));
  for (int64_t batch = 0; batch < batches; ++batch)
    words->data()[batch * words->strides[0]].integer =
        findErrors(queries, keys, pages, batch);
  if (onTensors)
    frame[plan.results[0]] = words;
  return success();
}

static LogicalResult compile(SequenceErrorsOp op, ProgramBuilder &builder) {
  auto getOptional = [&](Value value) -> std::optional<unsigned> {
    return value ? std::optional(builder.getRegister(value)) : std::nullopt;
  };
  ErrorsPlan plan{op,
                  builder.getRegister(op.getQuery()),
                  builder.getRegister(op.getKey()),
                  builder.getRegister(op.getValue()),
                  getOptional(op.getQueryLengths()),
                  getOptional(op.getKeyLengths()),
                  getOptional(op.getQueryStarts()),
                  getOptional(op.getKeyStarts()),
                  getOptional(op.getKeyPages()),
                  builder.getUse(op.getErrorsMutable()),
                  builder.getRegisters(op->getResults())};
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return run(plan, frame); });
  return success();
}

void executor::addSequenceErrorSemantics(Semantics &semantics) {
  semantics.add<SequenceErrorsOp>(compile);
}
