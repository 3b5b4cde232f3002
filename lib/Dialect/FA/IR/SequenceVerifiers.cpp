//===- SequenceVerifiers.cpp - Checks of packed sequences and pages -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the rows of a sequence are: in a batch, one sequence behind the other
// (starts), or in pages of a pool. Begin with `verifySequences` of
// fa.attention: keys lie in one way (`verifyKeyTables`), and orders and tables
// of all operands agree (`verifyRows`). Its overloads do the same for other
// operations.
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "fa/Dialect/FA/IR/FASequence.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult mlir::fa::verifyHasBatches(Operation *op, StringRef name,
                                         DimsAttr order) {
  if (order.has(DimKind::Batch))
    return success();
  return op->emitOpError() << name << " has the order " << order
                           << ", expected one with b, such as "
                           << DimsAttr::getDefault(op->getContext())
                           << ": only 'fa.attention' takes packed sequences "
                              "and pages";
}

namespace {
/// An operand with rows, and what says where those of a sequence are.
struct RowOperand {
  StringRef name;
  DimsAttr order;
  StringRef startsName;
  Value starts, pages;
};

/// What says where the rows of sequences are.
struct SequenceTables {
  Value queryStarts, keyStarts, pages, queryLengths, keyLengths;
};
} // namespace

/// The order names b, or neither b nor p, or p: as the operands beside it ask.
static LogicalResult verifyOrder(Operation *op, const RowOperand &operand) {
  auto emit = [&]() -> InFlightDiagnostic {
    return op->emitOpError()
           << operand.name << " has the order " << operand.order;
  };
  if (operand.pages && !operand.order.has(DimKind::Page))
    return emit() << " beside key_pages, expected one with p, such as "
                     "#fa.dims<p, s, h, d>";
  if (!operand.pages && operand.order.has(DimKind::Page))
    return emit()
           << (operand.startsName == "key_starts"
                   ? " but there are no key_pages, which say where the "
                     "keys of a sequence are"
                   : ", expected one without p: only keys and values lie "
                     "in pages");
  if (operand.starts && operand.order.has(DimKind::Batch))
    return emit() << " beside " << operand.startsName
                  << ", expected one without b, such as #fa.dims<s, h, d>";
  if (!operand.starts && !operand.pages && !operand.order.has(DimKind::Batch))
    return emit()
           << " but there are no " << operand.startsName
           << ", which say where each sequence begins; expected these or "
              "an order with b";
  return success();
}

LogicalResult mlir::fa::verifyTable(Operation *op, StringRef name, Value table,
                                    int64_t rank, int64_t more,
                                    std::pair<StringRef, int64_t> &batches) {
  if (!table)
    return success();
  auto type = cast<ShapedType>(table.getType());
  if (failed(verifyRank(op, name, type, rank)) ||
      failed(verifyElementType(op, name, type,
                               IntegerType::get(op->getContext(), 32))))
    return failure();
  int64_t rows = type.getDimSize(0);
  if (ShapedType::isDynamic(rows))
    return success();
  if (rows < more)
    return op->emitOpError() << name << " has " << rows
                             << " elements, expected batch + 1, so at least 1";
  rows -= more;
  if (failed(verifySameSize(op, "batches", batches.first, batches.second, name,
                            rows)))
    return failure();
  batches = {name, rows};
  return success();
}

/// Tables of a whole problem, which have the batch of what has one.
static LogicalResult verifyTables(Operation *op, const SequenceTables &tables,
                                  std::pair<StringRef, int64_t> &batches) {
  return success(
      succeeded(
          verifyTable(op, "query_starts", tables.queryStarts, 1, 1, batches)) &&
      succeeded(
          verifyTable(op, "key_starts", tables.keyStarts, 1, 1, batches)) &&
      succeeded(verifyTable(op, "key_pages", tables.pages, 2, 0, batches)) &&
      succeeded(verifyTable(op, "query_lengths", tables.queryLengths, 1, 0,
                            batches)) &&
      succeeded(
          verifyTable(op, "key_lengths", tables.keyLengths, 1, 0, batches)));
}

/// Tables and orders of a whole problem, and that all that has a batch has the
/// same one.
static LogicalResult verifyRows(AttentionLikeOpInterface op,
                                ArrayRef<RowOperand> operands,
                                const SequenceTables &tables) {
  for (const RowOperand &operand : operands)
    if (failed(verifyOrder(op, operand)))
      return failure();
  if (!tables.queryStarts && !tables.keyStarts && !tables.pages)
    return success();
  if (!op.getOffsets().empty() || !op.getExtents().empty())
    return op->emitOpError()
           << "has " << (op.getOffsets().empty() ? "extents" : "offsets")
           << " beside " << (tables.pages ? "key_pages" : "starts of sequences")
           << ", expected none: packed sequences and pages are whole problems";
  std::pair<StringRef, int64_t> batches = {"query", ShapedType::kDynamic};
  if (!tables.queryStarts &&
      cast<ShapedType>(op.getQuery().getType()).getRank() == 4)
    batches.second = sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Batch);
  return verifyTables(op, tables, batches);
}

/// Keys lie in one way, and pages do not say how many there are.
template <typename OpTy> static LogicalResult verifyKeyTables(OpTy op) {
  if (op.getKeyStarts() && op.getKeyPages())
    return op.emitOpError(
        "has key_starts and key_pages, expected one of them: "
        "keys lie one sequence behind the other, or in pages");
  if (op.getKeyPages() && !op.getKeyLengths())
    return op.emitOpError(
        "has key_pages but no key_lengths, expected the "
        "number of keys of each sequence, i32 of shape batch");
  return success();
}

LogicalResult mlir::fa::verifySequences(AttentionOp op) {
  Value pages = op.getKeyPages();
  if (failed(verifyKeyTables(op)))
    return failure();
  RowOperand operands[] = {
      {"query", op.getQueryOrder(), "query_starts", op.getQueryStarts(), {}},
      {"output", op.getOutputOrder(), "query_starts", op.getQueryStarts(), {}},
      {"key", op.getKeyOrder(), "key_starts", op.getKeyStarts(), pages},
      {"value", op.getValueOrder(), "key_starts", op.getKeyStarts(), pages}};
  if (failed(verifyRows(op, operands,
                        {op.getQueryStarts(), op.getKeyStarts(), pages,
                         op.getQueryLengths(), op.getKeyLengths()})))
    return failure();
  if (pages && cast<ShapedType>(op.getKey().getType()).getRank() == 4 &&
      sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Sequence) == 0)
    return op.emitOpError("key has pages of 0 rows, expected at least 1");
  return success();
}

LogicalResult mlir::fa::verifySequences(AttentionGradientOp op) {
  SmallVector<RowOperand> operands;
  auto add = [&](StringRef name, Value operand, DimsAttr order, bool isKey) {
    if (operand)
      operands.push_back({name,
                          order,
                          isKey ? "key_starts" : "query_starts",
                          isKey ? op.getKeyStarts() : op.getQueryStarts(),
                          {}});
  };
  add("query", op.getQuery(), op.getQueryOrder(), false);
  add("key", op.getKey(), op.getKeyOrder(), true);
  add("value", op.getValue(), op.getValueOrder(), true);
  add("output", op.getOutput(), op.getOutputOrder(), false);
  add("gradient of the output", op.getOutputGradient(),
      op.getOutputGradientOrder(), false);
  add("gradient of query", op.getQueryGradient(), op.getQueryGradientOrder(),
      false);
  add("gradient of key", op.getKeyGradient(), op.getKeyGradientOrder(), true);
  add("gradient of value", op.getValueGradient(), op.getValueGradientOrder(),
      true);
  return verifyRows(op, operands,
                    {op.getQueryStarts(), op.getKeyStarts(), Value(),
                     op.getQueryLengths(), op.getKeyLengths()});
}

LogicalResult mlir::fa::verifySequences(SequenceErrorsOp op) {
  Value pages = op.getKeyPages();
  if (failed(verifyKeyTables(op)))
    return failure();
  RowOperand operands[] = {
      {"query", op.getQueryOrder(), "query_starts", op.getQueryStarts(), {}},
      {"key", op.getKeyOrder(), "key_starts", op.getKeyStarts(), pages},
      {"value", op.getValueOrder(), "key_starts", op.getKeyStarts(), pages}};
  for (const RowOperand &operand : operands)
    if (failed(verifyOrder(op, operand)))
      return failure();
  std::pair<StringRef, Value> shaped[] = {
      {"query", op.getQuery()}, {"key", op.getKey()}, {"value", op.getValue()}};
  for (auto [operand, value] : llvm::zip_equal(operands, shaped))
    if (failed(verifyRank(op, operand.name, value.second.getType(),
                          operand.order.getRank())))
      return failure();
  if (failed(verifySameSize(
          op, "rows", "key",
          sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Sequence), "value",
          sizeOf(op.getValue(), op.getValueOrder(), DimKind::Sequence))))
    return failure();
  std::pair<StringRef, int64_t> batches = {"query", ShapedType::kDynamic};
  if (!op.getQueryStarts())
    batches.second = sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Batch);
  SequenceTables tables = {op.getQueryStarts(), op.getKeyStarts(), pages,
                           op.getQueryLengths(), op.getKeyLengths()};
  return success(
      succeeded(verifyTables(op, tables, batches)) &&
      succeeded(verifyTable(op, "errors", op.getErrors(), 1, 0, batches)));
}

LogicalResult mlir::fa::verifyBatchInvariant(AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!op.getBatchInvariant() || !config)
    return success();
  if (config.getKeySplits() > 1)
    return op.emitOpError()
           << "is batch_invariant and its config has key_splits = "
           << config.getKeySplits()
           << ", expected parts of a fixed size, which are the same in any "
              "batch; the nearest is split_keys = "
           << 8 * config.getKeyBlock();
  if (ConfigAttr longer = config.getLonger())
    return op.emitOpError()
           << "is batch_invariant and its config has a longer one from "
           << longer.getFromKeys()
           << " keys on, expected one for all lengths: which one holds depends "
              "on the batch";
  return success();
}

LogicalResult PagedRowsOp::verify() {
  auto pool = cast<MemRefType>(getPool().getType());
  auto rows = cast<MemRefType>(getRows().getType());
  auto table = cast<MemRefType>(getPages().getType());
  if (!getDims().has(DimKind::Page))
    return emitOpError() << "pool has the order " << getDims()
                         << ", expected one with p, such as #fa.dims<p, s, h, "
                            "d>";
  if (failed(verifyRank(*this, "pool", pool, 4)) ||
      failed(verifyRank(*this, "pages", table, 2)) ||
      failed(verifyElementType(*this, "pages", table,
                               IntegerType::get(getContext(), 32))) ||
      failed(verifyRank(*this, "result", rows, 4)) ||
      failed(verifyElementType(*this, "result", rows, pool.getElementType())) ||
      failed(verifyContiguousHeadDim(*this, "pool", pool, getDims())))
    return failure();
  int64_t headDim = sizeOf(getPool(), getDims(), DimKind::HeadDim);
  int64_t shape[] = {1, rows.getDimSize(1), 1, headDim};
  if (rows.getShape() != ArrayRef<int64_t>(shape))
    return emitOpError() << "result has type " << rows
                         << ", expected the shape 1 x keys x 1 x " << headDim;
  return success();
}
