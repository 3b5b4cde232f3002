//===- PairRegions.cpp - Inline regions on pairs --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inlines the body of a score or mask region into a loop or operation on
// pairs. Loads are made safe: out of bounds they read 0, and tables without
// elements get a stand-in. Read `inlinePairRegion`, at the end, then
// `cloneLoad`.
//
//===----------------------------------------------------------------------===//

#include "PairRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Tables without elements
//===----------------------------------------------------------------------===//

/// The start of the outermost parallel loop around the builder's place, or of
/// the function: memory from there is taken once and not in every iteration.
static Block *getOutermostBody(OpBuilder &builder) {
  Operation *outermost = nullptr;
  for (Operation *parent = builder.getInsertionBlock()->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<scf::ForallOp>(parent) ||
        (!outermost && isa<FunctionOpInterface>(parent)))
      outermost = parent;
  return &outermost->getRegion(0).front();
}

/// One readable element in the shape of `table`, each dynamic size 0.
static Value createStandIn(OpBuilder &builder, Location loc, MemRefType type,
                           ArrayRef<int64_t> strides, int64_t offset) {
  auto isStatic = [](int64_t number) { return !ShapedType::isDynamic(number); };
  int64_t skipped = isStatic(offset) ? offset : 0;
  Value memory;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(getOutermostBody(builder));
    memory = memref::AllocaOp::create(
        builder, loc,
        MemRefType::get({skipped + 1}, type.getElementType(), AffineMap(),
                        type.getMemorySpace()));
  }
  SmallVector<OpFoldResult> sizes, steps;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    sizes.push_back(builder.getIndexAttr(isStatic(size) ? size : 0));
    steps.push_back(builder.getIndexAttr(isStatic(stride) ? stride : 0));
  }
  auto view = memref::ReinterpretCastOp::create(
      builder, loc, memory, builder.getIndexAttr(skipped), sizes, steps);
  return memref::CastOp::create(builder, loc, type, view);
}

static Value guardEmptyTable(OpBuilder &builder, Location loc, Value table) {
  auto type = dyn_cast<MemRefType>(table.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)))
    return table;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value hasElements;
  for (int64_t position = 0; position < type.getRank(); ++position) {
    if (!type.isDynamicDim(position))
      continue;
    Value size = memref::DimOp::create(builder, loc, table, position);
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                       size, zero);
    hasElements =
        hasElements
            ? arith::AndIOp::create(builder, loc, hasElements, some).getResult()
            : some;
  }
  Value standIn = createStandIn(builder, loc, type, strides, offset);
  return arith::SelectOp::create(builder, loc, hasElements, table, standIn);
}

SmallVector<Value> mlir::fa::guardEmptyTables(OpBuilder &builder, Location loc,
                                              ValueRange tables) {
  SmallVector<Value> guarded;
  for (Value table : tables)
    guarded.push_back(guardEmptyTable(builder, loc, table));
  return guarded;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

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

/// The first size that is known at run time only: 0 in a table without
/// elements.
static Value getDynamicSize(OpBuilder &builder, Location loc, Value table) {
  auto type = cast<MemRefType>(table.getType());
  for (int64_t position = 0; position < type.getRank(); ++position)
    if (type.isDynamicDim(position))
      return memref::DimOp::create(builder, loc, table, position);
  return Value();
}

/// The size that an index must stay below: 0 in a table without elements, also
/// where the type states another.
static Value getLimit(OpBuilder &builder, Location loc, Value table,
                      int64_t position) {
  auto type = cast<MemRefType>(table.getType());
  Value size = memref::DimOp::create(builder, loc, table, position);
  if (type.hasStaticShape() || type.isDynamicDim(position))
    return size;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isEmpty =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                            getDynamicSize(builder, loc, table), zero);
  return arith::SelectOp::create(builder, loc, isEmpty, zero, size);
}

/// Reads 0 out of bounds. The load itself then reads the first element: what
/// it reads is not used, and a select stays in vectors where a branch does not.
static Value cloneLoad(OpBuilder &builder, memref::LoadOp load,
                       const PairPlace &place, const IRMapping &mapping) {
  Location loc = load.getLoc();
  Value memory = mapping.lookupOrDefault(load.getMemRef());
  auto type = cast<MemRefType>(memory.getType());
  Value none = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  if (type.hasStaticShape() && type.getNumElements() == 0)
    return none;
  SmallVector<Value> indices;
  Value inside;
  for (auto [position, index] : llvm::enumerate(load.getIndices())) {
    Value mapped = mapping.lookupOrDefault(index);
    bool isKnown = isInside(index, mapped, place, type.getDimSize(position));
    if (!isKnown ||
        (!type.hasStaticShape() && !isConstantIntValue(mapped, 0))) {
      Value size = getLimit(builder, loc, memory, position);
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
  return arith::SelectOp::create(builder, loc, inside, loaded, none);
}

SmallVector<Value> mlir::fa::inlinePairRegion(OpBuilder &builder,
                                              Region &region,
                                              ValueRange elements,
                                              const PairPlace &place,
                                              ValueRange captures) {
  Block &body = region.front();
  SmallVector<Value> arguments(elements);
  arguments.append({place.batch, place.head, place.query, place.key});
  llvm::append_range(arguments, captures);
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    if (auto length = dyn_cast<QueryLengthOp>(op))
      mapping.map(length.getResult(), place.queries);
    else if (auto length = dyn_cast<KeyLengthOp>(op))
      mapping.map(length.getResult(), place.keys);
    else if (auto stop = dyn_cast<StopGradientOp>(op))
      mapping.map(stop.getResult(), mapping.lookup(stop.getValue()));
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      mapping.map(load.getResult(), cloneLoad(builder, load, place, mapping));
    else
      builder.clone(op, mapping);
  }
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}
