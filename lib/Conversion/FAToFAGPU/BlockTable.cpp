//===- BlockTable.cpp - A table of listed blocks --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockTable.h"
#include "IndexWidths.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

/// Words of a row ahead of its list.
static constexpr int64_t countWords = 2;

/// More blocks than lengths can have, with all bits below it.
static constexpr int64_t greatestNumber = (int64_t(1) << 30) - 1;

static Value index(OpBuilder &at, Location loc, int64_t number) {
  return arith::ConstantIndexOp::create(at, loc, number);
}

BlockTable::BlockTable(scf::ForallOp loop, ArrayRef<unsigned> dims,
                       Value length, int64_t block)
    : loop(loop), loc(loop.getLoc()), dims(dims) {
  OpBuilder host(loop);
  auto bound = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(host, loc, value);
  };
  for (unsigned dim : dims) {
    Value extent = host.createOrFold<arith::SubIOp>(
        loc, bound(loop.getMixedUpperBound()[dim]),
        bound(loop.getMixedLowerBound()[dim]));
    counts.push_back(host.createOrFold<arith::CeilDivUIOp>(
        loc, extent, bound(loop.getMixedStep()[dim])));
  }
  Value capacity = host.createOrFold<arith::CeilDivUIOp>(
      loc, length, index(host, loc, block));
  capacity =
      host.createOrFold<arith::MaxUIOp>(loc, capacity, index(host, loc, 1));
  words = host.createOrFold<arith::AddIOp>(loc, capacity,
                                           index(host, loc, countWords));
  Value size = words;
  for (Value count : counts)
    size = host.createOrFold<arith::MulIOp>(loc, size, count);
  // Places in the table are computed in 32 bits.
  Value fits = arith::CmpIOp::create(
      host, loc, arith::CmpIPredicate::sle, size,
      index(host, loc, std::numeric_limits<int32_t>::max()));
  cf::AssertOp::create(host, loc, fits,
                       "the table of visited blocks has more than 2147483647 "
                       "entries; block_table = false needs none");
  auto type = MemRefType::get({ShapedType::kDynamic}, host.getI32Type());
  memory = fagpu::WorkspaceOp::create(host, loc, type, size);
}

BlockTable::Row BlockTable::getRow(OpBuilder &at, ValueRange indices) {
  Value row = index(at, loc, 0), one = index(at, loc, 1);
  for (auto [dim, induction, count] : llvm::zip_equal(dims, indices, counts)) {
    Value lower = getValueOrCreateConstantIndexOp(
        at, loc, loop.getMixedLowerBound()[dim]);
    Value step =
        getValueOrCreateConstantIndexOp(at, loc, loop.getMixedStep()[dim]);
    Value number = at.createOrFold<arith::SubIOp>(loc, induction, lower);
    number = at.createOrFold<arith::DivUIOp>(loc, number, step);
    row = multiplyShort(at, loc, row, count);
    row = at.createOrFold<arith::AddIOp>(loc, row, number);
  }
  row = multiplyShort(at, loc, row, words);
  Value next = at.createOrFold<arith::AddIOp>(loc, row, words);
  return {row, at.createOrFold<arith::AddIOp>(loc, row, one),
          at.createOrFold<arith::AddIOp>(loc, row, index(at, loc, countWords)),
          at.createOrFold<arith::SubIOp>(loc, next, one)};
}

Value BlockTable::load(OpBuilder &at, Value place) {
  Value word = memref::LoadOp::create(at, loc, memory, place);
  word = arith::IndexCastOp::create(at, loc, at.getIndexType(), word);
  return at.createOrFold<arith::AndIOp>(loc, word,
                                        index(at, loc, greatestNumber));
}

void BlockTable::store(OpBuilder &at, Value number, Value place) {
  Value word = arith::IndexCastOp::create(at, loc, at.getI32Type(), number);
  memref::StoreOp::create(at, loc, word, memory, place);
}
