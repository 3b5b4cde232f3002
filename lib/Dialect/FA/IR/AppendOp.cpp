//===- AppendOp.cpp - Checks of fa.append ---------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text of a rotary, and what an append may be given: orders of dimensions,
// types and sizes, tables of cosines and sines, then what says where a sequence
// is. Begin with `AppendOp::verify`, at the end.
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// An operand with rows of keys or values.
struct RowsOperand {
  StringRef name;
  Value value;
  DimsAttr order;
  bool isCache;

  int64_t getSize(DimKind kind) const { return sizeOf(value, order, kind); }
};
} // namespace

ParseResult mlir::fa::parseRotary(OpAsmParser &parser, RotaryAttr &rotary) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Rotary> pairs = symbolizeRotary(name);
  if (!pairs)
    return parser.emitError(loc)
           << "rotary is '" << name << "', expected interleaved or halves";
  rotary = RotaryAttr::get(parser.getContext(), *pairs);
  return success();
}

void mlir::fa::printRotary(OpAsmPrinter &printer, Operation *,
                           RotaryAttr rotary) {
  if (rotary)
    printer << stringifyRotary(rotary.getValue());
}

static bool isFloatOfOperands(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

/// New rows have b, or none beside starts; caches have b, or p beside pages.
static LogicalResult verifyAppendOrder(AppendOp op, const RowsOperand &rows) {
  Value table = rows.isCache ? op.getKeyPages() : op.getKeyStarts();
  StringRef tableName = rows.isCache ? "key_pages" : "key_starts";
  StringRef expected = !table ? "one with b, such as #fa.dims<b, s, h, d>"
                       : rows.isCache
                           ? "one with p, such as #fa.dims<p, s, h, d>"
                           : "one without b, such as #fa.dims<s, h, d>";
  bool hasBatch = rows.order.has(DimKind::Batch);
  bool hasPages = rows.order.has(DimKind::Page);
  bool isRight = !table         ? hasBatch
                 : rows.isCache ? hasPages
                                : !hasBatch && !hasPages;
  if (isRight)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitOpError() << rows.name << " has the order " << rows.order;
  if (table)
    return diagnostic << " beside " << tableName << ", expected " << expected;
  return diagnostic << " but there are no " << tableName << ", expected "
                    << expected;
}

static LogicalResult verifyRows(AppendOp op, ArrayRef<RowsOperand> all) {
  Type element = getElementTypeOrSelf(op.getKey().getType());
  for (const RowsOperand &rows : all) {
    if (failed(verifyAppendOrder(op, rows)) ||
        failed(verifyRank(op, rows.name, rows.value.getType(),
                          rows.order.getRank())))
      return failure();
    if (!isFloatOfOperands(element))
      return op.emitOpError() << "key has element type " << element
                              << ", expected f16, bf16 or f32";
    if (failed(
            verifyElementType(op, rows.name, rows.value.getType(), element)) ||
        failed(verifyHeadDim(op, (rows.name + " head dim").str(),
                             rows.getSize(DimKind::HeadDim))) ||
        failed(verifyContiguousHeadDim(op, rows.name, rows.value.getType(),
                                       rows.order)))
      return failure();
  }
  const RowsOperand &key = all[0], &value = all[1], &keys = all[2],
                    &values = all[3];
  auto agree = [&](StringRef what, DimKind kind, const RowsOperand &a,
                   const RowsOperand &b) {
    return verifySameSize(op, what, a.name, a.getSize(kind), b.name,
                          b.getSize(kind));
  };
  return success(
      succeeded(agree("head dims", DimKind::HeadDim, key, keys)) &&
      succeeded(agree("head dims", DimKind::HeadDim, value, values)) &&
      succeeded(agree("heads", DimKind::Heads, key, value)) &&
      succeeded(agree("heads", DimKind::Heads, key, keys)) &&
      succeeded(agree("heads", DimKind::Heads, key, values)) &&
      succeeded(agree("rows", DimKind::Sequence, key, value)) &&
      succeeded(agree("rows", DimKind::Sequence, keys, values)) &&
      succeeded(agree("batches", DimKind::Batch, key, value)) &&
      succeeded(agree("batches", DimKind::Batch, keys, values)));
}

/// Both tables, of as many dims as a key has or fewer.
static LogicalResult verifyRotary(AppendOp op) {
  bool hasTables = op.getCosines() && op.getSines();
  if (!op.getRotary() && !op.getCosines() && !op.getSines())
    return success();
  if (!op.getRotary() || !hasTables)
    return op.emitOpError("has a part of a rotary, expected none of it or "
                          "interleaved or halves with cosines and sines");
  std::pair<StringRef, Value> tables[] = {{"cosines", op.getCosines()},
                                          {"sines", op.getSines()}};
  for (auto [name, table] : tables) {
    if (failed(verifyRank(op, name, table.getType(), 2)))
      return failure();
    Type element = getElementTypeOrSelf(table.getType());
    if (!isFloatOfOperands(element))
      return op.emitOpError() << name << " has element type " << element
                              << ", expected f16, bf16 or f32";
  }
  auto cosines = cast<ShapedType>(op.getCosines().getType());
  auto sines = cast<ShapedType>(op.getSines().getType());
  if (failed(verifyElementType(op, "sines", sines, cosines.getElementType())) ||
      failed(verifySameSize(op, "positions", "cosines", cosines.getDimSize(0),
                            "sines", sines.getDimSize(0))) ||
      failed(verifySameSize(op, "columns", "cosines", cosines.getDimSize(1),
                            "sines", sines.getDimSize(1))))
    return failure();
  int64_t most = sizeOf(op.getKey(), op.getKeyOrder(), DimKind::HeadDim) / 2;
  for (auto [name, table] : tables) {
    int64_t columns = cast<ShapedType>(table.getType()).getDimSize(1);
    if (ShapedType::isDynamic(columns))
      return op.emitOpError() << name << " has a dynamic number of columns, "
                              << "expected a static one from 1 to " << most
                              << ", one for each pair of dims";
    if (columns < 1 || columns > most)
      return op.emitOpError()
             << name << " has " << columns << " columns, expected 1 to " << most
             << ", one for each pair of dims; the nearest is "
             << std::clamp<int64_t>(columns, 1, std::max<int64_t>(most, 1));
  }
  return success();
}

/// Tables of sequences, whose number is that of whatever has a batch, and room
/// for new rows, as far as it is known.
static LogicalResult verifyAppendTables(AppendOp op,
                                        ArrayRef<RowsOperand> all) {
  const RowsOperand &key = all[0], &keys = all[2];
  std::pair<StringRef, int64_t> batches = {key.name,
                                           key.getSize(DimKind::Batch)};
  if (failed(verifySameSize(op, "batches", batches.first, batches.second,
                            keys.name, keys.getSize(DimKind::Batch))))
    return failure();
  if (ShapedType::isDynamic(batches.second))
    batches = {keys.name, keys.getSize(DimKind::Batch)};
  if (failed(
          verifyTable(op, "key_lengths", op.getKeyLengths(), 1, 0, batches)) ||
      failed(
          verifyTable(op, "new_lengths", op.getNewLengths(), 1, 0, batches)) ||
      failed(verifyTable(op, "key_starts", op.getKeyStarts(), 1, 1, batches)) ||
      failed(verifyTable(op, "key_pages", op.getKeyPages(), 2, 0, batches)))
    return failure();
  int64_t capacity = keys.getSize(DimKind::Sequence);
  if (op.getKeyPages()) {
    if (capacity == 0)
      return op.emitOpError("caches have pages of 0 rows, expected at least 1");
    int64_t columns =
        cast<ShapedType>(op.getKeyPages().getType()).getDimSize(1);
    capacity = ShapedType::isDynamic(capacity) || ShapedType::isDynamic(columns)
                   ? ShapedType::kDynamic
                   : capacity * columns;
  }
  int64_t added = key.getSize(DimKind::Sequence);
  if (op.getKeyStarts() || op.getNewLengths() || ShapedType::isDynamic(added) ||
      ShapedType::isDynamic(capacity) || added <= capacity)
    return success();
  return op.emitOpError() << "key has " << added
                          << " new rows of each sequence, expected at most the "
                          << capacity << " rows that a cache has";
}

LogicalResult AppendOp::verify() {
  if (failed(verifyAttributeNames(*this, getAttributeNames())))
    return failure();
  bool onTensors = isa<RankedTensorType>(getKey().getType());
  for (Value operand : getOperands())
    if (isa<RankedTensorType>(operand.getType()) != onTensors)
      return emitOpError() << "operand has type " << operand.getType()
                           << " but key has type " << getKey().getType()
                           << ", expected all tensors or all memrefs";
  RowsOperand rows[] = {
      {"key", getKey(), getKeyOrder(), false},
      {"value", getValue(), getValueOrder(), false},
      {"key cache", getKeyCache(), getKeyCacheOrder(), true},
      {"value cache", getValueCache(), getValueCacheOrder(), true}};
  return success(succeeded(verifyRows(*this, rows)) &&
                 succeeded(verifyRotary(*this)) &&
                 succeeded(verifyAppendTables(*this, rows)));
}

void AppendOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult AppendOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}
