//===- PairRegions.cpp - Inline score and mask regions --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

/// The loaded index, moved to the nearest one inside the memory.
static Value clampIndex(OpBuilder &builder, Location loc, Value memory,
                        int64_t position, Value index) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value size = memref::DimOp::create(builder, loc, memory, position);
  Value last = arith::SubIOp::create(builder, loc, size, one);
  Value below = arith::MinSIOp::create(builder, loc, index, last);
  return arith::MaxSIOp::create(builder, loc, below, zero);
}

static Value cloneLoad(OpBuilder &builder, memref::LoadOp load,
                       const IRMapping &mapping) {
  Value memory = mapping.lookupOrDefault(load.getMemRef());
  SmallVector<Value> indices;
  for (auto [position, index] : llvm::enumerate(load.getIndices())) {
    Value mapped = mapping.lookupOrDefault(index);
    // The region's own arguments are the batch, head, query and key of a pair
    // that exists; a constant has been checked against static sizes.
    if (!isa<BlockArgument>(index) && !matchPattern(index, m_Constant()))
      mapped = clampIndex(builder, load.getLoc(), memory, position, mapped);
    indices.push_back(mapped);
  }
  return memref::LoadOp::create(builder, load.getLoc(), memory, indices);
}

Value mlir::fa::inlinePairRegion(OpBuilder &builder, Region &region,
                                 Value score, const PairPlace &place,
                                 ValueRange captures) {
  Block &body = region.front();
  SmallVector<Value> arguments;
  if (score)
    arguments.push_back(score);
  arguments.append({place.batch, place.head, place.query, place.key});
  llvm::append_range(arguments, captures);
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    if (auto length = dyn_cast<QueryLengthOp>(op))
      mapping.map(length.getResult(), place.queries);
    else if (auto length = dyn_cast<KeyLengthOp>(op))
      mapping.map(length.getResult(), place.keys);
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      mapping.map(load.getResult(), cloneLoad(builder, load, mapping));
    else
      builder.clone(op, mapping);
  }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}
