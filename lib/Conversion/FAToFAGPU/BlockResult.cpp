//===- BlockResult.cpp - Result of a query block --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

void QueryBlock::emitResult() {
  Location loc = finalize.getLoc();
  OpBuilder builder(finalize);
  Blocks blocks(builder, loc);
  Value acc = newRanges.getResult(0), maximum = newRanges.getResult(1);
  Value sum = newRanges.getResult(2);
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::arcp |
                                                 arith::FastMathFlags::afn);
  Value reciprocal = arith::DivFOp::create(
      builder, loc, blocks.constant(1.0f, rowType), sum, flags);
  Value inverse = blocks.select(blocks.isEqual(sum, 0.0f),
                                blocks.constant(0.0f, rowType), reciprocal);
  Value lse;
  if (finalize.getLse())
    lse = arith::AddFOp::create(
        builder, loc, maximum,
        math::LogOp::create(builder, loc, sum, arith::FastMathFlags::afn));
  Value normalised = arith::MulFOp::create(builder, loc, acc,
                                           blocks.broadcast(inverse, accType));
  storeResult(builder, normalised, lse);
}

void QueryBlock::emitEmptyResult() {
  OpBuilder builder(finalize);
  Blocks blocks(builder, finalize.getLoc());
  storeResult(builder, blocks.constant(0.0f, accType),
              blocks.constant(-infinity, rowType));
}

void QueryBlock::storeResult(OpBuilder &builder, Value output, Value lse) {
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  auto store = [&](Value value, Tile tile, int64_t rowDim,
                   DenseI64ArrayAttr sizes, Value columns, int64_t alignment) {
    Value limit = getEnd(builder, tile, rowDim);
    if (finalize.getRows())
      limit = builder.createOrFold<arith::AddIOp>(loc, tile.offsets[rowDim],
                                                  finalize.getRows());
    shift(builder, tile.offsets[rowDim], groupRow);
    SmallVector<Value> offsets;
    for (Value offset : tile.offsets)
      offsets.push_back(blocks.cast32(offset));
    fagpu::StoreOp::create(builder, loc, value, tile.memory, offsets, sizes,
                           blocks.cast32(limit), columns, Value(), Value(),
                           alignment);
  };
  if (finalize.getLse())
    store(lse, *resolve(builder, finalize, finalize.getLse()), 2,
          DenseI64ArrayAttr(), Value(), /*alignment=*/16);
  Tile tile = *resolve(builder, finalize, finalize.getOutput());
  Type type = cast<MemRefType>(tile.memory.getType()).getElementType();
  int64_t sequence = finalize.getOutputOrder().positionOf(DimKind::Sequence);
  SmallVector<int64_t> box = {1, 1, 1, getColumns(valueDim)};
  box[sequence] = rows;
  store(blocks.truncate(output, type), tile, sequence,
        builder.getDenseI64ArrayAttr(box),
        boundColumns(builder, loc, valueDim, getColumns(valueDim)),
        getAlignment(cast<MemRefType>(tile.memory.getType()), valueDim));
}
