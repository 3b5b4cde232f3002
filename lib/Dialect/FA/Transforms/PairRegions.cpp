//===- PairRegions.cpp - Inline score and mask regions --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::fa;

/// Whether a load at `index` stays below `size`: a constant below it, or the
/// query or the key of a pair where the memory has one element for each.
static bool isInside(Value index, Value mapped, const PairPlace &place,
                     int64_t size) {
  if (ShapedType::isDynamic(size))
    return false;
  std::optional<int64_t> constant = getConstantIntValue(mapped);
  if (constant)
    return *constant >= 0 && *constant < size;
  if (!isa<BlockArgument>(index))
    return false;
  std::optional<int64_t> count;
  if (mapped == place.query)
    count = getConstantIntValue(place.queries);
  else if (mapped == place.key)
    count = getConstantIntValue(place.keys);
  return count && *count <= size;
}

/// Reads 0 out of bounds. The load itself then reads the first element: what
/// it reads is not used, and a select stays in vectors where a branch does not.
static Value cloneLoad(OpBuilder &builder, memref::LoadOp load,
                       const PairPlace &place, const IRMapping &mapping) {
  Location loc = load.getLoc();
  Value memory = mapping.lookupOrDefault(load.getMemRef());
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<Value> indices;
  Value inside;
  for (auto [position, index] : llvm::enumerate(load.getIndices())) {
    Value mapped = mapping.lookupOrDefault(index);
    if (!isInside(index, mapped, place, type.getDimSize(position))) {
      Value size = memref::DimOp::create(builder, loc, memory, position);
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value below = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, mapped, size);
      mapped = arith::SelectOp::create(builder, loc, below, mapped, zero);
      inside =
          inside
              ? arith::AndIOp::create(builder, loc, inside, below).getResult()
              : below;
    }
    indices.push_back(mapped);
  }
  Value loaded = memref::LoadOp::create(builder, loc, memory, indices);
  if (!inside)
    return loaded;
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  return arith::SelectOp::create(builder, loc, inside, loaded, zero);
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
      mapping.map(load.getResult(), cloneLoad(builder, load, place, mapping));
    else
      builder.clone(op, mapping);
  }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}
