//===- CapturedLoads.cpp - Captured memory on block values ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A load of captured memory becomes one scalar, a copy of a box in bulk, or one
// element a thread. `load` at the end decides. It tries `loadScalar` and
// `loadTile`; else `locate` gives each thread its index. `guard` adds the bound
// of a dimension where an index is not known to keep it.
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

/// Whether an index of a load is below the size of its dimension, and `also`
/// holds, a scalar that may be null; null where that is known.
Value RegionOnBlocks::guard(Value mapped, Value memory, unsigned dim,
                            Value also) {
  int64_t size = cast<MemRefType>(memory.getType()).getDimSize(dim);
  if (std::optional<int64_t> constant = getConstantIntValue(mapped);
      constant && !ShapedType::isDynamic(size) && *constant >= 0 &&
      *constant < size)
    return also;
  Kind kind = kindOf(mapped);
  Value limit =
      memref::DimOp::create(outside, loc, memory, static_cast<int64_t>(dim));
  if (kind == Kind::Scalar) {
    Value inBounds = arith::CmpIOp::create(
        outside, loc, arith::CmpIPredicate::ult, mapped, limit);
    return also
               ? arith::AndIOp::create(outside, loc, also, inBounds).getResult()
               : inBounds;
  }
  // No index is below 0: one comparison for each element says both.
  if (also)
    limit = arith::SelectOp::create(
        outside, loc, also, limit,
        arith::ConstantIndexOp::create(outside, loc, 0));
  if (isWideBlock(mapped))
    return arith::CmpIOp::create(builderOf(kind), loc,
                                 arith::CmpIPredicate::ult, mapped,
                                 widen(limit, kind));
  if (mapped == keyIndex && !place.rowsAreKeys)
    return compareKey(arith::CmpIPredicate::slt, limit);
  // Queries and keys are not negative.
  bool isPlain = mapped == queryIndex || mapped == keyIndex;
  auto predicate =
      isPlain ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult;
  return arith::CmpIOp::create(builderOf(kind), loc, predicate, mapped,
                               spread(limit, kind));
}

/// At indices that are equal for all pairs; `inBounds` may be null.
Value RegionOnBlocks::loadScalar(memref::LoadOp op, Value memory,
                                 ArrayRef<Value> indices, Value inBounds) {
  auto loadBy = [&](OpBuilder &builder) -> Value {
    return memref::LoadOp::create(builder, loc, memory, indices);
  };
  if (!inBounds)
    return loadBy(outside);
  Type type = op.getType();
  auto branch = scf::IfOp::create(outside, loc, TypeRange{type}, inBounds,
                                  /*withElseRegion=*/true);
  OpBuilder inside = branch.getThenBodyBuilder();
  scf::YieldOp::create(inside, loc, loadBy(inside));
  OpBuilder past = branch.getElseBodyBuilder();
  Value zero = arith::ConstantOp::create(past, loc, past.getZeroAttr(type));
  scf::YieldOp::create(past, loc, zero);
  return branch.getResult(0);
}

/// The box that the block reads, where it can be copied in bulk, or null: its
/// padding is what a load reads out of bounds.
Value RegionOnBlocks::loadTile(memref::LoadOp op, Value memory,
                               ArrayRef<Value> indices) {
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!place.hasTiles || !isScore || !argument ||
      !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return {};
  auto classify = [&](Value index) {
    if (index == queryIndex || index == keyIndex)
      return index == queryIndex ? CapturedIndex::query : CapturedIndex::key;
    return index == place.batch || index == place.head || isSmallConstant(index)
               ? CapturedIndex::sameForAll
               : CapturedIndex::other;
  };
  std::optional<unsigned> rowDim =
      findTileRows(memory.getType(), llvm::map_to_vector(indices, classify));
  if (!rowDim)
    return {};
  Type i32 = inside.getI32Type();
  SmallVector<Value> offsets;
  for (Value index : indices) {
    if (index == queryIndex || index == keyIndex)
      index = index == queryIndex ? place.query : place.key;
    Value visited = place.rowsAreKeys ? place.query : place.key;
    offsets.push_back(arith::IndexCastOp::create(
        index == visited ? inside : outside, loc, i32, index));
  }
  SmallVector<int64_t> sizes(indices.size(), 1);
  sizes[*rowDim] = place.rowsAreKeys ? place.columns : place.rows;
  sizes.back() = place.rowsAreKeys ? place.rows : place.columns;
  auto tile = fagpu::FetchOp::create(
      inside, loc, typeOf(Kind::Matrix, op.getType()), memory, offsets, sizes,
      /*rows=*/Value(), /*columns=*/Value(), /*alignment=*/16, /*padded=*/true);
  if (place.rowsAreKeys)
    tile->setAttr(fagpu::transposedAttrName, inside.getUnitAttr());
  return tile;
}

/// With `ofRows` what columns alone index is of matrices.
RegionOnBlocks::Places RegionOnBlocks::locate(Value memory,
                                              ArrayRef<Value> indices,
                                              bool ofRows, unsigned firstDim) {
  Places places;
  places.indices.assign(indices.begin(), indices.end());
  Kind &kind = places.kind;
  for (auto [number, index] : llvm::enumerate(indices)) {
    unsigned dim = firstDim + number;
    kind = join(kind, kindOf(index));
    if (kindOf(index) == Kind::Scalar)
      places.inBounds = guard(index, memory, dim, places.inBounds);
  }
  if (ofRows && kind == Kind::Column)
    kind = Kind::Matrix;
  OpBuilder &builder = builderOf(kind);
  Value &mask = places.mask;
  for (auto [number, index] : llvm::enumerate(indices)) {
    unsigned dim = firstDim + number;
    if (kindOf(index) == Kind::Scalar)
      continue;
    Value wide = spread(
        guard(index, memory, dim, mask ? Value() : places.inBounds), kind);
    mask = mask ? arith::AndIOp::create(builder, loc, mask, wide).getResult()
                : wide;
  }
  for (Value &index : places.indices)
    if (isWideBlock(index))
      // In bounds it fits.
      index = arith::TruncIOp::create(builder, loc,
                                      typeOf(kind, builder.getI32Type()),
                                      spread(index, kind));
    else if (kindOf(index) != Kind::Scalar)
      index = spread(index, kind);
    else
      index =
          arith::IndexCastOp::create(outside, loc, outside.getI32Type(), index);
  return places;
}

/// A load reads 0 out of bounds, and touches no memory there.
Value RegionOnBlocks::load(memref::LoadOp op, const IRMapping &mapping) {
  Value memory = mapping.lookup(op.getMemRef());
  SmallVector<Value> indices = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return mapping.lookup(index); });
  if (Value tile = loadTile(op, memory, indices))
    return tile;
  if (llvm::all_of(indices,
                   [](Value index) { return kindOf(index) == Kind::Scalar; })) {
    Value inBounds;
    for (auto [dim, index] : llvm::enumerate(indices))
      inBounds = guard(index, memory, dim, inBounds);
    return loadScalar(op, memory, indices, inBounds);
  }
  Places places = locate(memory, indices, /*ofRows=*/false);
  return fagpu::GatherOp::create(builderOf(places.kind), loc,
                                 typeOf(places.kind, op.getResult().getType()),
                                 memory, places.indices, places.mask,
                                 /*pairs=*/false,
                                 /*in_order=*/false)
      .getResult();
}
