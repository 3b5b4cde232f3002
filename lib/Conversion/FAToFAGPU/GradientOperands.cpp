//===- GradientOperands.cpp - What a step of a gradient reads -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step of a gradient reads. Tiles of rows stand in front of all loops,
// numbers of queries beside them or at each block of columns. Read `fetchRows`
// and `fetchKeys`, then `gatherRowNumbers` where rows are queries, and
// `spreadNumbers`, which brings these numbers to the pairs of a block.
//
//===----------------------------------------------------------------------===//

#include "GradientBlock.h"
#include "IndexWidths.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

GradientBlock::Operands GradientBlock::getOperands() {
  Operand query = {step.getQuery(), step.getQueryOrder()};
  Operand key = {step.getKey(), step.getKeyOrder()};
  Operand value = {step.getValue(), step.getValueOrder()};
  Operand gradient = {step.getOutputGradient(), step.getOutputGradientOrder()};
  if (rowsAreKeys)
    return {key, query, value, gradient};
  return {query, key, gradient, value};
}

Value GradientBlock::getDelta() {
  if (auto keys = dyn_cast<GradientKeysOp>(*step))
    return keys.getDelta();
  return cast<GradientQueriesOp>(*step).getDelta();
}

/// The group's rows, or its columns, of a block.
Value GradientBlock::takeGroup(OpBuilder &builder, Value block, int64_t rows,
                               int64_t columns, bool ofColumns) {
  Location loc = step.getLoc();
  Value size = arith::ConstantIntOp::create(builder, loc,
                                            ofColumns ? columns : rows, 32);
  OpFoldResult first =
      getAsOpFoldResult(arith::IndexCastOp::create(
                            builder, loc, builder.getIndexType(),
                            multiplyShort(builder, loc, role.getGroup(), size))
                            .getResult());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto type = cast<RankedTensorType>(block.getType());
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone({rows, columns}), block,
      ArrayRef<OpFoldResult>{ofColumns ? zero : first,
                             ofColumns ? first : zero},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(rows),
                             builder.getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{one, one});
}

/// The gradient of queries sums over the keys of all groups.
LogicalResult GradientBlock::fetchKeys(OpBuilder &front) {
  Operand keys = getOperands().rows;
  int64_t groups = role.getGroups();
  FailureOr<Value> fetched =
      fetch(front, step, keys.memory, keys.order, rows * groups, std::nullopt);
  if (failed(fetched))
    return failure();
  allKeys = *fetched;
  int64_t headDim = cast<RankedTensorType>(allKeys.getType()).getDimSize(1);
  FailureOr<QuerySumsPart> part =
      QuerySumsPart::get(step, columns, headDim, groups);
  if (failed(part))
    return failure();
  sumsPart = *part;
  keyColumns = allKeys;
  if (!hasGroups) {
    rowTile = allKeys;
    return success();
  }
  rowTile = takeGroup(front, allKeys, rows, headDim, /*ofColumns=*/false);
  if (sumsPart.ofColumns)
    keyColumns = takeGroup(front, allKeys, rows * groups, sumsPart.columns,
                           /*ofColumns=*/true);
  return success();
}

/// What all blocks of columns are multiplied by, in front of all loops.
LogicalResult GradientBlock::fetchRows(OpBuilder &front) {
  Operands operands = getOperands();
  if (addsToQueries() && failed(fetchKeys(front)))
    return failure();
  for (auto [operand, tile] :
       {std::pair(operands.rows, &rowTile),
        std::pair(operands.rowGradients, &rowGradientTile)}) {
    if (*tile)
      continue;
    FailureOr<Value> fetched = fetch(front, step, operand.memory, operand.order,
                                     rows, std::nullopt, groupRow);
    if (failed(fetched))
      return failure();
    *tile = *fetched;
  }
  return success();
}

/// Numbers of rows that are queries.
LogicalResult GradientBlock::gatherRowNumbers(OpBuilder &outside) {
  Location loc = step.getLoc();
  Blocks blocks(outside, loc);
  Type i32 = outside.getI32Type();
  RankedTensorType indexType = rowType.clone(i32);
  // Sums over rows have nothing of those behind the last one: their weights
  // are 0.
  auto gather = [&](Value numbers, float behind) -> FailureOr<Value> {
    FailureOr<Tile> tile = resolve(outside, step, numbers);
    if (failed(tile))
      return failure();
    Value end = blocks.cast32(getEnd(outside, *tile, 2));
    shift(outside, tile->offsets[2], groupRow);
    Value first = blocks.splat(blocks.cast32(tile->offsets[2]), indexType);
    Value row =
        arith::AddIOp::create(outside, loc,
                              fagpu::IotaOp::create(outside, loc, indexType, 0,
                                                    fagpu::IndexPart::all),
                              first);
    Value isBelow =
        arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::slt, row,
                              blocks.splat(end, indexType));
    SmallVector<Value> indices = {blocks.cast32(tile->offsets[0]),
                                  blocks.cast32(tile->offsets[1]), row};
    Value gathered = fagpu::GatherOp::create(
        outside, loc, rowType, tile->memory, indices, isBelow, /*pairs=*/false,
        /*in_order=*/false);
    if (behind == 0.0f || !addsToCaptures())
      return gathered;
    return blocks.select(isBelow, gathered, blocks.constant(behind, rowType));
  };
  FailureOr<Value> references = gather(step.getLse(), infinity);
  FailureOr<Value> deltas = gather(getDelta(), 0.0f);
  if (failed(references) || failed(deltas))
    return failure();
  rowReferences = *references;
  rowDeltas = *deltas;
  return success();
}

/// Numbers of queries at the pairs of the block: of rows, or brought for each
/// block of columns.
FailureOr<Value> GradientBlock::spreadNumbers(OpBuilder &inside, Value numbers,
                                              Value ofRows,
                                              const IRMapping &mapping) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  if (!rowsAreKeys)
    return blocks.broadcast(ofRows, scoreType);
  FailureOr<Tile> tile =
      resolve(inside, step, mapping.lookupOrDefault(numbers));
  if (failed(tile))
    return failure();
  SmallVector<Value> offsets;
  for (Value offset : tile->offsets)
    offsets.push_back(blocks.cast32(offset));
  auto type = RankedTensorType::get(
      {columns}, inside.getF32Type(),
      fagpu::ColumnLayoutAttr::get(inside.getContext(), warps));
  // The memory is whole blocks, as fa-tile-gradient makes it. Threads that copy
  // for themselves read the numbers of their own columns.
  if (!hasGroups) {
    RankedTensorType indexType = type.clone(inside.getI32Type());
    offsets.back() = arith::AddIOp::create(
        inside, loc,
        fagpu::IotaOp::create(inside, loc, indexType, 0, fagpu::IndexPart::all),
        blocks.splat(offsets.back(), indexType));
    return blocks.broadcast(
        fagpu::GatherOp::create(inside, loc, type, tile->memory, offsets,
                                /*mask=*/Value(), /*pairs=*/true,
                                /*in_order=*/false),
        scoreType);
  }
  Value fetched = fagpu::FetchOp::create(
      inside, loc, type, tile->memory, offsets,
      ArrayRef<int64_t>{1, 1, columns},
      /*rows=*/Value(), /*columns=*/Value(), /*alignment=*/16,
      /*padded=*/false);
  return blocks.broadcast(fetched, scoreType);
}
