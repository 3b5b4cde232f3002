//===- GlobalStores.cpp - Stores to global memory by threads --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalStores.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fagpu;

int64_t mlir::fagpu::getBytesPerAdd(Operation *op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  auto chip = kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName);
  return fa::lookupGPUTarget(chip.getValue())->hasVectorAdds ? 16 : 4;
}

/// The dimension that rows go on in, where the one that is bounded has not all
/// of them.
static std::optional<unsigned> getInnerDim(StoreOp store) {
  SmallVector<int64_t> box = store.getBox();
  unsigned end = box.size() - (store.getTile().size() > 1);
  for (unsigned dim = store.getRowDim() + 1; dim < end; ++dim)
    if (box[dim] > 1)
      return dim;
  return std::nullopt;
}

Value mlir::fagpu::addRow(Emitter &emit, StoreOp store,
                          MutableArrayRef<Value> indices, Value row,
                          int64_t more) {
  Value &bounded = indices[store.getRowDim()];
  std::optional<unsigned> inner = getInnerDim(store);
  if (!inner)
    return bounded = emit.add(emit.add(bounded, row), more);
  row = emit.add(row, more);
  Value size = emit.constant(store.getBox()[*inner]);
  Value rest = arith::RemUIOp::create(emit.builder, emit.location, row, size);
  row = arith::DivUIOp::create(emit.builder, emit.location, row, size);
  indices[*inner] = emit.add(indices[*inner], rest);
  return bounded = emit.add(bounded, row);
}

/// Emits a store of `list`, where $0 is the address and $1 on are the words.
static void emitStore(Emitter &emit, const RowPiece &piece, StringRef before,
                      StringRef type, StringRef list, StringRef after) {
  bool isFloat = piece.words.front().getType().isF32();
  SmallVector<Value> inputs = {piece.address};
  std::string constraints = "l";
  for (Value word : piece.words) {
    constraints += isFloat ? ",f" : ",r";
    inputs.push_back(word);
  }
  StringRef operation = piece.adds ? "red.global.add" : "st.global";
  std::string text =
      (operation + type + " [$0 + " + Twine(piece.offset) + "], " + list + ";")
          .str();
  if (piece.predicate) {
    text = "@$" + std::to_string(inputs.size()) + " " + text;
    constraints += ",b";
    inputs.push_back(piece.predicate);
  }
  emit.inlinePTX((before + text + after).str(), constraints + ",~{memory}",
                 inputs, {});
}

/// Stores the words of a piece at once.
static void storeWords(Emitter &emit, const RowPiece &piece) {
  std::string list;
  for (size_t index = 1; index <= piece.words.size(); ++index)
    list += (index > 1 ? ", $" : "$") + std::to_string(index);
  StringRef element = piece.adds ? ".f32" : ".b32";
  if (piece.words.size() == 1)
    return emitStore(emit, piece, "", element, list, "");
  emitStore(emit, piece, "", (".v" + Twine(piece.words.size()) + element).str(),
            "{" + list + "}", "");
}

static void storeColumn(Emitter &emit, const RowPiece &piece, int64_t column,
                        bool isPacked);

static bool holdsPairs(const RowPiece &piece) {
  return !piece.words.front().getType().isF32();
}

void mlir::fagpu::storePiece(Emitter &emit, const RowPiece &piece) {
  int64_t words = piece.words.size(), atOnce = piece.alignment / 4;
  for (int64_t first = 0; atOnce && first < words; first += atOnce) {
    RowPiece part = piece;
    part.offset += 4 * first;
    part.words = piece.words.slice(first, std::min(atOnce, words - first));
    storeWords(emit, part);
  }
  for (int64_t column = 0; !atOnce && column < 2 * words; ++column)
    storeColumn(emit, piece, column, /*isPacked=*/true);
}

/// Stores column `column` of a piece.
static void storeColumn(Emitter &emit, const RowPiece &piece, int64_t column,
                        bool isPacked) {
  RowPiece single = piece;
  if (!isPacked) {
    single.offset += 4 * column;
    single.words = piece.words.slice(column, 1);
    return storeWords(emit, single);
  }
  single.offset += 2 * column;
  single.words = piece.words.slice(column / 2, 1);
  StringRef split = column % 2 ? "{ .reg .b16 x; mov.b32 {_, x}, $1; "
                               : "{ .reg .b16 x; mov.b32 {x, _}, $1; ";
  emitStore(emit, single, split, ".b16", "x", " }");
}

static Value both(Emitter &emit, Value a, Value b) {
  return a ? emit.logicalAnd(a, b) : b;
}

void mlir::fagpu::storePiece(Emitter &emit, const RowPiece &piece,
                             const ColumnBound &bound, int64_t first,
                             int64_t span, Value column) {
  if (bound.excludes(first))
    return;
  if (bound.holds(first, span))
    return storePiece(emit, piece);
  bool isPacked = holdsPairs(piece);
  int64_t count = piece.words.size() * (isPacked ? 2 : 1);
  Value left = bound.getLeft(emit, emit.add(column, first));
  auto isAtLeast = [&](int64_t columns) -> Value {
    return arith::CmpIOp::create(emit.builder, emit.location,
                                 arith::CmpIPredicate::sge, left,
                                 emit.constant(columns));
  };
  RowPiece bounded = piece;
  Value isWhole = isAtLeast(count);
  bounded.predicate = both(emit, piece.predicate, isWhole);
  storePiece(emit, bounded);
  if (bound.isMultipleOf(count))
    return;
  // Memory ends inside the piece: what is left of it, column by column.
  Value isPart =
      both(emit, piece.predicate, emit.isLess(left, emit.constant(count)));
  for (int64_t index = 0; index + 1 < count; ++index) {
    bounded.predicate = emit.logicalAnd(isPart, isAtLeast(index + 1));
    storeColumn(emit, bounded, index, isPacked);
  }
}
